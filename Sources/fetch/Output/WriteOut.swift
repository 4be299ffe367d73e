internal import TowlineHTTP

/// What `--write-out` shows of a transfer.
///
/// Source: curl(1), `--write-out`.
enum WriteOut {
    /// A piece of text, and where it goes.
    struct Piece: Hashable {
        var text: String
        var isError: Bool
    }

    /// Fills a format in.
    static func pieces(_ format: String, _ facts: TransferFacts) -> [Piece] {
        var pieces = [Piece(text: "", isError: false)]
        func add(_ text: String) { pieces[pieces.count - 1].text += text }
        var rest = Substring(format)
        while let character = rest.popFirst() {
            switch character {
            case "\\":
                add(escape(&rest))
            case "%" where rest.first == "%":
                rest.removeFirst()
                add("%")
            case "%" where rest.hasPrefix("header{"):
                guard let name = braced(&rest, after: "header") else {
                    add("%")
                    continue
                }
                add(facts.head?.headers[name] ?? "")
            case "%" where rest.hasPrefix("{"):
                guard let name = braced(&rest, after: "") else {
                    add("%")
                    continue
                }
                switch name {
                case "stderr": pieces.append(Piece(text: "", isError: true))
                case "stdout": pieces.append(Piece(text: "", isError: false))
                case "onerror": if facts.exitCode == .success { return pieces }
                default:
                    if let value = variable(name, facts) {
                        add(value.shown)
                    } else {
                        StandardError.write(
                            "fetch: unknown --write-out variable: '\(name)'\n"
                        )
                    }
                }
            default: add(String(character))
            }
        }
        return pieces
    }

    private static func escape(_ rest: inout Substring) -> String {
        guard let character = rest.popFirst() else { return "\\" }
        switch character {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        default: return "\\\(character)"
        }
    }

    /// What stands in braces; takes it out.
    private static func braced(_ rest: inout Substring, after word: String) -> String? {
        let inner = rest.dropFirst(word.count + 1)
        guard let end = inner.firstIndex(of: "}") else { return nil }
        rest = inner[inner.index(after: end)...]
        return String(inner[..<end])
    }

    // MARK: Variables

    /// A value as text, and as JSON has it.
    enum Value: Hashable {
        case text(String?)
        case number(Int)
        case time(Duration?)
        /// JSON itself.
        case literal(String)

        var shown: String {
            switch self {
            case .text(let text): text ?? ""
            case .number(let number): String(number)
            case .time(let duration): WriteOut.seconds(duration ?? .zero)
            case .literal(let text): text
            }
        }

        var json: String {
            switch self {
            case .text(nil): "null"
            case .text(let text?): WriteOut.quoted(text)
            case .number, .time, .literal: shown
            }
        }
    }

    private static func variable(_ name: String, _ facts: TransferFacts) -> Value? {
        switch name {
        case "json": return .literal(json(facts))
        case "header_json": return .literal(headerJSON(facts))
        case "http_code", "response_code": return .text(code(facts.status))
        case "http_connect": return .text(code(0))
        default: return plain.first { $0.0 == name }?.1(facts)
        }
    }

    private static func code(_ status: Int) -> String {
        String(repeating: "0", count: max(0, 3 - String(status).count)) + String(status)
    }

    private typealias Row = (String, @Sendable (TransferFacts) -> Value)

    /// The variables in the order in which JSON lists them.
    private static let plain: [Row] = [
        ("content_type", { .text($0.head?.headers["Content-Type"]) }),
        ("errormsg", { .text($0.errorMessage) }),
        ("exitcode", { .number(Int($0.exitCode.rawValue)) }),
        ("filename_effective", { .text($0.fileName) }),
        ("http_code", { .number($0.status) }),
        ("http_connect", { _ in .number(0) }),
        ("http_version", { .text(version($0)) }),
        ("local_ip", { .text($0.local?.address ?? "") }),
        ("local_port", { .number(Int($0.local?.port ?? 0)) }),
        ("method", { .text($0.method) }),
        ("num_connects", { .number($0.connectionCount) }),
        ("num_headers", { .number($0.head?.headers.count ?? 0) }),
        ("num_redirects", { .number($0.redirectCount) }),
        ("proxy_ssl_verify_result", { _ in .number(0) }),
        ("redirect_url", { .text($0.redirectURL) }),
        ("referer", { .text($0.referer) }),
        ("remote_ip", { .text($0.remote?.address ?? "") }),
        ("remote_port", { .number(Int($0.remote?.port ?? 0)) }),
        ("response_code", { .number($0.status) }),
        ("scheme", { .text($0.scheme) }),
        ("size_download", { .number(Int($0.receivedByteCount)) }),
        ("size_header", { .number($0.headByteCount) }),
        ("size_request", { .number(Int($0.requestByteCount)) }),
        ("size_upload", { .number(Int($0.sentByteCount)) }),
        ("speed_download", { .number(Int($0.speed(of: $0.receivedByteCount))) }),
        ("speed_upload", { .number(Int($0.speed(of: $0.sentByteCount))) }),
        ("ssl_verify_result", { .number($0.verifyResult) }),
        ("time_appconnect", { .time($0.secured) }),
        ("time_connect", { .time($0.connected) }),
        ("time_namelookup", { .time($0.lookedUp) }),
        ("time_pretransfer", { .time($0.requestBegan) }),
        ("time_redirect", { .time($0.redirected) }),
        ("time_starttransfer", { .time($0.responseBegan) }),
        ("time_total", { .time($0.total) }),
        ("url", { .text($0.url) }),
        ("url_effective", { .text($0.effectiveURL) }),
        ("urlnum", { .number($0.number) }),
    ]

    private static func version(_ facts: TransferFacts) -> String {
        guard let version = facts.head?.version else { return "0" }
        return "\(version)".split(separator: "/").last.map(String.init) ?? "0"
    }

    /// With six decimals, cut.
    static func seconds(_ duration: Duration) -> String {
        let microseconds = Int(duration / .microseconds(1))
        let decimals = String(microseconds % 1_000_000)
        let zeros = String(repeating: "0", count: 6 - decimals.count)
        return "\(microseconds / 1_000_000).\(zeros)\(decimals)"
    }

    // MARK: JSON

    private static func json(_ facts: TransferFacts) -> String {
        let members = plain.map { "\"\($0.0)\":\($0.1(facts).json)" }
        return "{\(members.joined(separator: ","))}"
    }

    /// Each name in lower case with the list of its values, in the order of the first ones.
    private static func headerJSON(_ facts: TransferFacts) -> String {
        var names: [String] = []
        for field in facts.head?.headers ?? [:] where !names.contains(field.name.lowercased()) {
            names.append(field.name.lowercased())
        }
        let members = names.map { name in
            let values = facts.head?.headers.values(of: name) ?? []
            return "\(quoted(name)):[\(values.map(quoted).joined(separator: ","))]"
        }
        return "{\(members.joined(separator: ",\n"))\n}"
    }

    static func quoted(_ text: String) -> String {
        var output = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case "\r": output += "\\r"
            case "\t": output += "\\t"
            case "\u{8}": output += "\\b"
            case "\u{c}": output += "\\f"
            case let other where other.value < 0x20:
                let digits = String(other.value, radix: 16)
                output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output + "\""
    }
}
