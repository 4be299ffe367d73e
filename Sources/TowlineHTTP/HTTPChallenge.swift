/// One way in which a server or a proxy lets a request prove who sends it.
///
/// Source: RFC 9110 section 11.
public struct HTTPChallenge: Sendable, Hashable {
    /// A named value of a challenge.
    public struct Parameter: Sendable, Hashable {
        /// In lower case.
        public let name: String
        /// Without quotes.
        public let value: [UInt8]
    }

    /// Such as `basic`, in lower case.
    public let scheme: String

    /// What some schemes have instead of parameters.
    public fileprivate(set) var token: String?

    /// The parameters, in order.
    public fileprivate(set) var parameters: [Parameter] = []

    /// The value of the first parameter of a name, which is given in lower case.
    public subscript(name: String) -> [UInt8]? {
        parameters.first { $0.name == name }?.value
    }

    /// The part of the server that the credential is for, for showing to a person.
    public var realm: String? { self["realm"].map { String(decoding: $0, as: UTF8.self) } }

    /// All challenges of a response, in order, several in one field told apart.
    ///
    /// - Parameters:
    ///   - headers: Of a response with 401 or 407.
    ///   - name: `WWW-Authenticate` or `Proxy-Authenticate`.
    /// - Returns: The challenges; what is none is passed over.
    public static func all(in headers: HTTPHeaders, named name: String) -> [HTTPChallenge] {
        var challenges: [HTTPChallenge] = []
        headers.forEachValue(of: name) { challenges += ChallengeParser.parse(Array($0)) }
        return challenges
    }
}

/// Takes a field's value apart.
///
/// Challenges and their parameters are both parted by commas: a token
/// begins a challenge unless a `=` follows it.
private enum ChallengeParser {
    static func parse(_ value: [UInt8]) -> [HTTPChallenge] {
        var scanner = FieldScanner(value)
        var challenges: [HTTPChallenge] = []
        while !scanner.isAtEnd {
            scanner.skipBlanks()
            if scanner.take(",") { continue }
            let start = scanner.position
            let name = lower(scanner.takeToken())
            scanner.skipBlanks()
            if !name.isEmpty, scanner.take("=") {
                let value = parameterValue(&scanner)
                guard !challenges.isEmpty else { continue }
                challenges[challenges.count - 1].parameters.append(.init(name: name, value: value))
            } else if !name.isEmpty {
                challenges.append(HTTPChallenge(scheme: name))
                challenges[challenges.count - 1].token = token(&scanner)
            }
            // Nothing of this place is understood: on with the next.
            if scanner.position == start { _ = scanner.take { $0 == UInt8(ascii: ",") } }
        }
        return challenges
    }

    private static func parameterValue(_ scanner: inout FieldScanner) -> [UInt8] {
        scanner.skipBlanks()
        if let quoted = scanner.takeQuoted() { return quoted }
        return Array(scanner.take { $0 == UInt8(ascii: ",") || $0 == 0x20 || $0 == 0x09 })
    }

    /// Letters, digits and a few more, at the end perhaps `=`, with nothing behind.
    private static func token(_ scanner: inout FieldScanner) -> String? {
        let start = scanner.position
        let letters = scanner.take { byte in
            !(ASCII.isLetter(byte) || Grammar.isDigit(byte) || "-._~+/".utf8.contains(byte))
        }
        let padding = scanner.take { $0 != UInt8(ascii: "=") }
        scanner.skipBlanks()
        guard !letters.isEmpty, scanner.isAtEnd || scanner.next == UInt8(ascii: ",") else {
            scanner.rewind(to: start)
            return nil
        }
        return String(decoding: letters + padding, as: UTF8.self)
    }

    private static func lower(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.map(ASCII.lower), as: UTF8.self)
    }
}

extension HTTPChallenge {
    fileprivate init(scheme: String) {
        self.scheme = scheme
    }
}
