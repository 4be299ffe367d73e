internal import TowlineHTTP
internal import TowlineTLS

/// Who wants to know who asks.
enum CredentialAsker: Hashable {
    case server(HTTPURL.Origin)
    case proxy(HTTPHostPort)

    var isProxy: Bool { if case .proxy = self { true } else { false } }

    /// The status of a response that asks.
    var status: Int { isProxy ? 407 : 401 }

    /// The field that says how to answer.
    var challengeField: String { isProxy ? "Proxy-Authenticate" : "WWW-Authenticate" }

    /// The field with the answer.
    var answerField: String { isProxy ? "Proxy-Authorization" : "Authorization" }

    /// The field that may say what the next answer is to be made of.
    var infoField: String { isProxy ? "Proxy-Authentication-Info" : "Authentication-Info" }

    /// What a response asks for, in order.
    func challenges(in head: HTTPResponseHead) -> [HTTPChallenge] {
        HTTPChallenge.all(in: head.headers, named: challengeField)
    }
}

/// What servers and proxies have said of how names and passwords are to be proved, for the requests
/// that follow.
///
/// Each of them has its own for each name and password; none of it goes to another.
final class CredentialMemory {
    private struct Key: Hashable {
        let asker: CredentialAsker
        let user: String
        let password: String
    }

    private struct Entry {
        var digest: DigestCredential
        var used: UInt64
    }

    /// So many are kept, and the one that was not used for longest goes.
    static let limit = 256

    private var entries: [Key: Entry] = [:]
    private var clock: UInt64 = 0

    /// The value of the field that proves who asks.
    ///
    /// - Parameters:
    ///   - credential: Who asks.
    ///   - asker: To whom it goes.
    ///   - method: The request's method.
    ///   - target: The request's target, as it is sent.
    /// - Returns: The value, to be sent once; `nil` where nothing is sent before somebody asks.
    /// - Throws: `HTTPRequestFault.credential`.
    func value(
        of credential: HTTPCredential,
        for asker: CredentialAsker,
        method: HTTPMethod,
        target: String
    ) throws(HTTPRequestFault) -> [UInt8]? {
        switch credential {
        case .basic(let user, let password):
            return Array(try HTTPAuthorization.basic(username: user, password: password).utf8)
        case .bearer(let token):
            return Array(try HTTPAuthorization.bearer(token).utf8)
        case .digest(let user, let password), .anyOffered(let user, let password):
            let key = Key(asker: asker, user: user, password: password)
            guard var entry = entries[key] else { return nil }
            clock += 1
            entry.used = clock
            var isComputed = true
            let nonce: [UInt8]
            do throws(AlgorithmError) {
                nonce = try RandomBytes.make(count: 16)
            } catch {
                return nil
            }
            let value = try entry.digest.answer(
                method: method,
                target: target,
                username: user,
                password: password,
                clientNonce: nonce.hexadecimal
            ) { hash, bytes in
                guard let digest = hash.digest(of: bytes) else {
                    isComputed = false
                    return []
                }
                return digest
            }
            entries[key] = entry
            return isComputed ? value : nil
        }
    }

    /// Keeps what a response asks for.
    ///
    /// - Parameters:
    ///   - challenges: What it asks for.
    ///   - asker: Who asks.
    ///   - credential: What is to be proved.
    /// - Returns: Whether ``value(of:for:method:target:)`` answers it by a digest from now on.
    func learn(
        _ challenges: [HTTPChallenge],
        from asker: CredentialAsker,
        for credential: HTTPCredential
    ) -> Bool {
        guard let (user, password) = credential.provable else { return false }
        for challenge in challenges {
            guard let digest = DigestCredential(answering: [challenge]),
                digest.hash.digest(of: []) != nil
            else { continue }
            clock += 1
            let key = Key(asker: asker, user: user, password: password)
            entries[key] = Entry(digest: digest, used: clock)
            makeRoom()
            return true
        }
        return false
    }

    /// Takes over what a response says of the next request's answer.
    func note(
        _ headers: HTTPHeaders,
        from asker: CredentialAsker,
        for credential: HTTPCredential
    ) {
        guard let (user, password) = credential.provable else { return }
        let key = Key(asker: asker, user: user, password: password)
        guard entries[key] != nil, headers.contains(asker.infoField) else { return }
        for field in headers where field.name.lowercased() == asker.infoField.lowercased() {
            entries[key]?.digest.update(authenticationInfo: field.value)
        }
    }

    private func makeRoom() {
        guard entries.count > Self.limit,
            let oldest = entries.min(by: { $0.value.used < $1.value.used })
        else { return }
        entries[oldest.key] = nil
    }
}

extension HTTPCredential {
    /// The name and the password, where they may be proved without being sent.
    fileprivate var provable: (user: String, password: String)? {
        switch self {
        case .digest(let user, let password), .anyOffered(let user, let password):
            (user, password)
        case .basic, .bearer: nil
        }
    }

    /// The same name and password, to be sent as they are, if the challenges and the caller allow
    /// it and nothing better is there.
    func basic(offeredBy challenges: [HTTPChallenge]) -> HTTPCredential? {
        guard case .anyOffered(let user, let password) = self,
            challenges.contains(where: { $0.scheme == "basic" })
        else { return nil }
        return .basic(user: user, password: password)
    }
}

extension DigestCredential.Hash {
    /// The bytes of the hash; `nil` where the library's configuration leaves it out.
    fileprivate func digest(of bytes: [UInt8]) -> [UInt8]? {
        let algorithm: MessageDigest
        switch self {
        case .md5: algorithm = .md5
        case .sha256: algorithm = .sha256
        }
        do throws(AlgorithmError) {
            return try algorithm.digest(of: bytes)
        } catch {
            return nil
        }
    }
}

extension [UInt8] {
    /// Two digits for each byte.
    fileprivate var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        let text = flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}
