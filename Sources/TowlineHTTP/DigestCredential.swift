/// Answers a Digest challenge, one request after the other.
///
/// It keeps what the server has said and how often that was used; it belongs to the origin that
/// sent the challenge, and goes when a redirect leaves it. Hashes are computed by a function that
/// is passed in, and chance comes from outside, too.
///
/// Source: RFC 7616; RFC 2617 for servers that say no `qop`.
public struct DigestCredential: Sendable {
    /// How the answer is hashed.
    public enum Hash: Sendable {
        /// MD5, 16 bytes.
        case md5
        /// SHA-256, 32 bytes.
        case sha256
    }

    /// The hash that the challenge asks for.
    public let hash: Hash
    private let isSession: Bool
    /// As the server wrote it, to be said back.
    private let algorithm: [UInt8]?
    private let realm: [UInt8]
    private let opaque: [UInt8]?
    private let hasQuality: Bool
    private let hidesUsername: Bool
    private var nonce: [UInt8]
    private var useCount: UInt32 = 0
    /// What a session began with.
    private var sessionClientNonce: String?

    /// What the first challenge asks that can be answered; nil if none can.
    ///
    /// - Parameter challenges: As the server sent them: the first is the one that it likes best.
    public init?(answering challenges: [HTTPChallenge]) {
        for challenge in challenges {
            if let answer = DigestCredential(challenge) {
                self = answer
                return
            }
        }
        return nil
    }

    private init?(_ challenge: HTTPChallenge) {
        guard challenge.scheme == "digest", let realm = challenge["realm"],
            let nonce = challenge["nonce"]
        else { return nil }
        self.realm = realm
        self.nonce = nonce
        opaque = challenge["opaque"]
        algorithm = challenge["algorithm"]
        switch Self.lower(algorithm ?? Array("md5".utf8)) {
        case "md5": (hash, isSession) = (.md5, false)
        case "md5-sess": (hash, isSession) = (.md5, true)
        case "sha-256": (hash, isSession) = (.sha256, false)
        case "sha-256-sess": (hash, isSession) = (.sha256, true)
        default: return nil
        }
        if let qualities = challenge["qop"] {
            let names = qualities.split { $0 == UInt8(ascii: ",") || $0 == 0x20 || $0 == 0x09 }
            guard names.contains(where: { Self.lower($0) == "auth" }) else { return nil }
            hasQuality = true
        } else {
            hasQuality = false
        }
        hidesUsername = challenge["userhash"].map { Self.lower($0) == "true" } ?? false
    }

    /// Whether a challenge that follows an answer only says that its nonce is too old: the same
    /// name and password will do.
    public static func isStale(_ challenges: [HTTPChallenge]) -> Bool {
        challenges.contains {
            $0.scheme == "digest" && $0["stale"].map { lower($0) == "true" } ?? false
        }
    }

    /// The value of `Authorization` or `Proxy-Authorization` for one request.
    ///
    /// - Parameters:
    ///   - method: The request's method.
    ///   - target: The request's target, exactly as it is sent.
    ///   - username: Without control characters.
    ///   - password: Without control characters.
    ///   - clientNonce: Letters and digits by chance, 16 or more, others for each request; for a
    ///     session algorithm those of the first stay.
    ///   - digest: Gives the bytes of a hash.
    /// - Returns: The value, to be used once.
    /// - Throws: ``HTTPRequestFault/credential(_:)``.
    public mutating func answer(
        method: HTTPMethod,
        target: String,
        username: String,
        password: String,
        clientNonce: String,
        digest: (Hash, [UInt8]) -> [UInt8]
    ) throws(HTTPRequestFault) -> [UInt8] {
        try HTTPAuthorization.checkControls(username, password)
        useCount += 1
        let clientNonce = isSession ? sessionClientNonce ?? clientNonce : clientNonce
        sessionClientNonce = clientNonce
        func hashed(_ parts: [[UInt8]]) -> [UInt8] {
            Self.hexadecimal(digest(hash, Array(parts.joined(separator: [UInt8(ascii: ":")]))))
        }
        let clientBytes = Array(clientNonce.utf8)
        var secret = hashed([Array(username.utf8), realm, Array(password.utf8)])
        if isSession { secret = hashed([secret, nonce, clientBytes]) }
        let request = hashed([Array(method.rawValue.utf8), Array(target.utf8)])
        let quality = hasQuality ? [countText, clientBytes, Array("auth".utf8)] : []
        let response = hashed([secret, nonce] + quality + [request])

        var output = DigestField()
        if hidesUsername {
            output.addQuoted("username", hashed([Array(username.utf8), realm]))
        } else {
            output.addUsername(username)
        }
        output.addQuoted("realm", realm)
        output.addQuoted("nonce", nonce)
        output.addQuoted("uri", Array(target.utf8))
        output.addQuoted("response", response)
        if let algorithm { output.add("algorithm", algorithm) }
        if hasQuality || isSession { output.addQuoted("cnonce", clientBytes) }
        if let opaque { output.addQuoted("opaque", opaque) }
        if hasQuality {
            output.add("qop", Array("auth".utf8))
            output.add("nc", countText)
        }
        if hidesUsername { output.add("userhash", Array("true".utf8)) }
        return output.bytes
    }

    /// Takes over the nonce that the server wants to see next, from `Authentication-Info`.
    public mutating func update(authenticationInfo value: [UInt8]) {
        // The field has a challenge's parameters without a scheme in front.
        var headers = HTTPHeaders()
        headers.add("info", Array("digest ".utf8) + value)
        guard let next = HTTPChallenge.all(in: headers, named: "info").first?["nextnonce"] else {
            return
        }
        nonce = next
        useCount = 0
        sessionClientNonce = nil
    }

    /// Eight hexadecimal digits.
    private var countText: [UInt8] {
        let digits = String(useCount, radix: 16)
        return Array((String(repeating: "0", count: 8 - digits.count) + digits).utf8)
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    private static func lower(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.map(ASCII.lower), as: UTF8.self)
    }
}

/// The parameters of an answer, one after the other.
private struct DigestField {
    private(set) var bytes = Array("Digest ".utf8)
    private var isEmpty = true

    mutating func add(_ name: String, _ value: [UInt8]) {
        if !isEmpty { bytes += ", ".utf8 }
        isEmpty = false
        bytes += name.utf8
        bytes.append(UInt8(ascii: "="))
        bytes += value
    }

    mutating func addQuoted(_ name: String, _ value: [UInt8]) {
        var quoted: [UInt8] = [UInt8(ascii: "\"")]
        for byte in value {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                quoted.append(UInt8(ascii: "\\"))
            }
            quoted.append(byte)
        }
        add(name, quoted + [UInt8(ascii: "\"")])
    }

    /// A name beyond ASCII has a form of its own.
    mutating func addUsername(_ username: String) {
        guard !username.utf8.allSatisfy({ $0 < 0x80 }) else {
            return addQuoted("username", Array(username.utf8))
        }
        let encoded = PercentEncoding.encode(username.utf8, .allButUnreserved)
        add("username*", Array("UTF-8''\(encoded)".utf8))
    }
}
