internal import TowlineHTTP

/// The fields that options ask for.
extension RequestBuilder {
    /// Fields to send; `omitted` gets those that are not to be sent.
    func headers(
        _ form: FormData?,
        _ omitted: inout Set<String>
    ) throws(FetchFailure) -> HTTPHeaders {
        var headers = HTTPHeaders()
        let given = plan.settings.headers.compactMap(HeaderLine.init)
        func add(_ name: String, _ value: String?) {
            let isGiven = given.contains { $0.name.lowercased() == name.lowercased() }
            if let value, !isGiven { headers.add(name, value) }
        }
        switch plan.settings.userAgent {
        case "": omitted.insert("User-Agent")
        case let agent: add("User-Agent", agent ?? "fetch/\(Fetch.version)")
        }
        add("Accept", plan.settings.isJSON ? "application/json" : "*/*")
        add("Range", rangeValue)
        add("Referer", refererValue)
        add("Cookie", cookies)
        try addConditions(add)
        if let form {
            add("Content-Type", form.contentType)
        } else if kind == .post {
            let type = "application/x-www-form-urlencoded"
            add("Content-Type", plan.settings.isJSON ? "application/json" : type)
        }
        for line in given {
            switch line.value {
            case nil: omitted.insert(line.name)
            case let value?: headers.add(line.name, value)
            }
        }
        return headers
    }

    private var rangeValue: String? {
        if let range = plan.settings.range { return "bytes=\(range)" }
        return resumeOffset > 0 && plan.upload == nil ? "bytes=\(resumeOffset)-" : nil
    }

    private var refererValue: String? {
        guard let referer = plan.settings.referer else { return nil }
        let value = referer.hasSuffix(";auto") ? String(referer.dropLast(5)) : referer
        return value.isEmpty ? nil : value
    }

    private func addConditions(_ add: (String, String?) -> Void) throws(FetchFailure) {
        if let condition = plan.settings.timeCondition {
            let isNegated = condition.hasPrefix("-")
            let text =
                isNegated || condition.hasPrefix("+") ? condition.dropFirst() : condition[...]
            let seconds = FileTime.modified(of: String(text)) ?? HTTPDate.seconds(String(text))
            let name = isNegated ? "If-Unmodified-Since" : "If-Modified-Since"
            add(name, seconds.map(HTTPDate.text))
        }
        if let file = plan.settings.entityTagSource {
            var tag = "\"\""
            if FileTime.modified(of: file) != nil {
                do throws(UsageError) {
                    let bytes = try ByteFiles().read(file)
                    let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
                    if !line.isEmpty { tag = String(decoding: line, as: UTF8.self) }
                } catch {
                    throw FetchFailure(error.code, error.message)
                }
            }
            add("If-None-Match", tag)
        }
    }
}

/// A field as `-H` has it.
struct HeaderLine {
    let name: String
    /// What is sent; `nil` if the field is not to be sent at all.
    let value: String?

    /// `Name: value`, `Name:` for none, `Name;` for an empty one; anything else is none.
    init?(_ text: String) {
        if let colon = text.firstIndex(of: ":") {
            name = String(text[..<colon])
            let rest = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            value = rest.isEmpty ? nil : String(rest)
        } else if text.hasSuffix(";") {
            name = String(text.dropLast())
            value = ""
        } else {
            return nil
        }
        if name.isEmpty { return nil }
    }
}
