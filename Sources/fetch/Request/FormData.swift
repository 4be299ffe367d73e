internal import Glibc
internal import TowlineHTTP
internal import TowlineHTTPClient

/// A form with its parts, as a body.
///
/// Source: curl(1), `--form`.
struct FormData {
    let contentType: String
    let body: HTTPBody

    init(_ specifications: [FormSpecification]) throws(FetchFailure) {
        var parts: [FormPart] = []
        for specification in specifications { parts.append(try FormPart(specification)) }
        var generator = SystemRandomNumberGenerator()
        do throws(HTTPRequestFault) {
            let form = try MultipartForm(
                boundary: MultipartForm.makeBoundary(using: &generator),
                parts: parts.map(\.part)
            )
            contentType = form.contentType
            let pieces = try form.pieces()
            body = .pieces(
                pieces.map { piece in
                    switch piece {
                    case .bytes(let bytes): .bytes(bytes)
                    case .content(let index, _): .file(path: parts[index].path)
                    }
                }
            )
        } catch {
            throw FetchFailure(.usage, error.description)
        }
    }
}

/// One part of a form, as it was written.
struct FormPart {
    private(set) var part: MultipartForm.Part
    /// The file that it is made of, where it is sent from there.
    private(set) var path = ""

    init(_ specification: FormSpecification) throws(FetchFailure) {
        let text = specification.text
        let mark = text.firstIndex(of: "=") ?? text.endIndex
        let name = String(text[..<mark])
        var rest = text[mark...].dropFirst()
        part = MultipartForm.Part(name: name, value: String(rest))
        guard !specification.isLiteral else { return }
        let kind = rest.first
        if kind == "@" || kind == "<" { rest = rest.dropFirst() }
        let content = Self.word(&rest)
        takeParameters(&rest)
        switch kind {
        case "@": try takeFile(content)
        case "<": part.content = .bytes(try Self.read(content))
        default: part.content = .bytes(Array(content.utf8))
        }
    }

    private mutating func takeFile(_ path: String) throws(FetchFailure) {
        if path == "-" {
            part.content = .bytes(try Self.read(path))
        } else {
            guard access(path, R_OK) == 0 else {
                throw FetchFailure(.read, "Failed to open/read local data from file \(path)")
            }
            self.path = path
            part.content = .external(byteCount: FileTime.byteCount(of: path))
        }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        if part.contentType == nil { part.contentType = Self.type(ofFile: name) }
        if part.fileName == nil { part.fileName = name }
    }

    private static func read(_ path: String) throws(FetchFailure) -> [UInt8] {
        do throws(UsageError) {
            return try ByteFiles().read(path)
        } catch {
            throw FetchFailure(.read, error.message)
        }
    }

    /// What follows the content behind semicolons.
    private mutating func takeParameters(_ rest: inout Substring) {
        while rest.popFirst() == ";" {
            rest = rest.drop { $0 == " " }
            let key = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(key.count)
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst()
            var value = Self.word(&rest)
            switch key.lowercased() {
            case "type":
                // A type may have parameters of its own.
                while rest.hasPrefix(";"), !Self.beginsOwnParameter(rest.dropFirst()) {
                    rest = rest.dropFirst()
                    value += ";" + Self.word(&rest)
                }
                part.contentType = value
            case "filename": part.fileName = value
            case "headers":
                guard let line = HeaderLine(value), let content = line.value else { continue }
                part.headers.append(HTTPHeaders.Field(name: line.name, value: content))
            default: break
            }
        }
    }

    private static func beginsOwnParameter(_ text: Substring) -> Bool {
        let text = text.drop { $0 == " " }.lowercased()
        return ["type=", "filename=", "headers=", "encoder="].contains { text.hasPrefix($0) }
    }

    /// Text up to a semicolon, or in quotes, where a backslash lets quotes and itself stand.
    private static func word(_ rest: inout Substring) -> String {
        guard rest.first == "\"" else {
            let word = rest.prefix { $0 != ";" }
            rest = rest.dropFirst(word.count)
            return String(word)
        }
        rest = rest.dropFirst()
        var output = ""
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\", let next = rest.first, next == "\"" || next == "\\" {
                output.append(next)
                rest = rest.dropFirst()
            } else {
                output.append(character)
            }
        }
        return output
    }

    private static func type(ofFile name: String) -> String? {
        let types = [
            ".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png",
            ".svg": "image/svg+xml", ".txt": "text/plain", ".htm": "text/html",
            ".html": "text/html", ".pdf": "application/pdf", ".xml": "application/xml",
        ]
        let lower = name.lowercased()
        return types.first { lower.hasSuffix($0.key) }?.value
    }
}
