internal import TowlineHTTP
internal import TowlineHTTPClient

/// What the head of an answer decides.
extension Transfer {
    /// The name that the server gives, where it may.
    func rename(for headers: HTTPHeaders, of url: HTTPURL) {
        guard case .remoteName = plan.output else { return }
        let disposition = headers["Content-Disposition"].map { Array($0.utf8) }
        if settings.usesHeaderName, let disposition,
            let name = SavedFileName(contentDisposition: disposition)
        {
            output = file(name.text, mayReplace: false)
        } else if settings.savesByType {
            output = file(SavedFileName(url, mediaType: headers["Content-Type"]).text)
        }
    }

    /// Ends it for a status that counts as a failure.
    func refuse(_ response: HTTPResponse) throws(FetchFailure) {
        guard settings.fails, response.status >= 400 else { return }
        if response.status == 416, builder.resumeOffset > 0 { return }
        try show(response.head)
        throw Self.httpError(response.status)
    }

    /// Decides whether the body is taken.
    func refuseBody(_ response: HTTPResponse) throws(FetchFailure) {
        if let file = settings.entityTagTarget, let tag = response.headers["ETag"] {
            try OutputFile(path: file).write(tag + "\n")
        }
        if let limit = settings.sizeLimit, let length = response.contentLength, length > limit {
            throw FetchFailure(.tooLarge, "Maximum file size exceeded")
        }
        try checkCoding(response)
        try checkResume(response)
        checkTime(response)
    }

    private func checkCoding(_ response: HTTPResponse) throws(FetchFailure) {
        guard settings.isCompressed, !settings.isRaw, !response.isDecoded else { return }
        let codings = response.headers.elements(of: "Content-Encoding").map { $0.lowercased() }
        guard codings.contains(where: { ContentNames.isUnknown($0) }) else { return }
        throw FetchFailure(.coding, "Unrecognized content encoding type")
    }

    private func checkResume(_ response: HTTPResponse) throws(FetchFailure) {
        let offset = builder.resumeOffset
        guard offset > 0, builder.kind == .get else { return }
        if response.status == 416 {
            ignoresBody = true
        } else if response.headers["Content-Range"] == nil {
            guard response.contentLength != offset else {
                ignoresBody = true
                return
            }
            let text = "HTTP server doesn't seem to support byte ranges. Cannot resume."
            throw FetchFailure(.range, text)
        }
    }

    /// What is not newer than was asked for is not shown, also where the server sends it.
    private func checkTime(_ response: HTTPResponse) {
        guard let condition = settings.timeCondition, settings.range == nil,
            let text = response.headers["Last-Modified"], let changed = HTTPDate.seconds(text)
        else { return }
        let isNegated = condition.hasPrefix("-")
        let bare = String(condition.drop { $0 == "-" || $0 == "+" })
        guard let wanted = FileTime.modified(of: bare) ?? HTTPDate.seconds(bare) else { return }
        ignoresBody = ignoresBody || (isNegated ? changed >= wanted : changed <= wanted)
    }
}

extension Transfer {
    /// What `Cookie` says to a URL: what the jar has for it, and what was written.
    func cookieField(for text: String) -> String? {
        var pieces: [String] = []
        do throws(HTTPURLError) {
            if let cookies, let field = cookies.field(for: try HTTPURL(text)) {
                pieces.append(field)
            }
        } catch {
            // The exchange will say that it is no URL.
            return nil
        }
        pieces += settings.cookies.filter { $0.contains("=") }
        return pieces.isEmpty ? nil : pieces.joined(separator: "; ")
    }

    /// The cookies of the request that a redirect leads to.
    func renewCookies(_ next: inout HTTPRequest, of asked: HTTPRequest) {
        guard cookies != nil else { return }
        let isGiven = settings.headers.contains { HeaderLine($0)?.name.lowercased() == "cookie" }
        guard !isGiven else { return }
        let keepsWritten = asked.headers.contains("Cookie")
        if keepsWritten || settings.cookies.allSatisfy({ !$0.contains("=") }) {
            next.headers["Cookie"] = cookieField(for: next.url)
        }
    }
}

/// Names of codings of content.
enum ContentNames {
    private static let known: Set<String> = [
        "identity", "gzip", "x-gzip", "deflate", "br", "zstd", "none",
    ]

    static func isUnknown(_ name: String) -> Bool { !known.contains(name) }
}
