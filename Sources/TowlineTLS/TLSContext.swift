internal import COpenSSL
internal import Towline

/// What a configuration stands for: the library's context, and what sessions look up beside it.
///
/// Made once, and not changed afterwards; sessions of all threads share it.
final class TLSContext: @unchecked Sendable {
    // Sendable since nothing of it changes once it is made; what the library counts in it is
    // atomic.
    let pointer: OpaquePointer
    let configuration: TLSConfiguration

    // What each handshake asks for, apart: the configuration as a whole takes long to copy.
    let isServer: Bool
    let verifyMode: CInt
    /// Whether the program chooses whom a server is.
    let asksForIdentity: Bool
    /// Whether a server with this asks the delegate about its clients, and so gives tickets only
    /// when it has been told yes.
    let givesTicketsByHand: Bool

    /// Stands for the configuration where sessions are kept; never used twice in a process.
    let number: UInt64

    /// Takes the secrets of connections.
    let keyLogSink: (any KeyLogSink)?

    /// Judges peers.
    let trust: TrustEvaluator

    /// Where a client keeps its sessions; `nil` if it keeps none.
    let sessions: SessionCache?

    /// What a ticket has to have been given for, apart from the name that was asked for.
    let ticketScope: [UInt8]

    private let hasWarned = Locked(false)

    private static let count = Locked(UInt64(0))
    private static let liveContexts = Locked(0)

    /// How many there are at the moment, in the whole process.
    static var liveCount: Int { liveContexts.withLock { $0 } }

    /// Builds a context.
    ///
    /// - Parameters:
    ///   - configuration: What it stands for.
    ///   - level: The library's level of security.
    /// - Throws: What of the configuration cannot be.
    init(_ configuration: TLSConfiguration, level: CInt = 2) throws(TLSError) {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        let isServer = configuration.role == .server
        guard let pointer = SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method())
        else { throw .fromQueue() }
        self.pointer = pointer
        self.configuration = configuration
        self.isServer = isServer
        verifyMode = configuration.verifyMode
        asksForIdentity = isServer && configuration.chooser != nil
        givesTicketsByHand = configuration.givesTicketsByHand
        number = Self.count.withLock { count in
            count += 1
            return count
        }
        keyLogSink = configuration.keyLog.sink()
        let judges = !isServer || configuration.clientAuthentication != .none
        // Whoever judges nobody need not read the system's roots.
        trust = TrustEvaluator(judges ? configuration.trust : .anchors([]))
        sessions = configuration.clientSessions
        ticketScope = configuration.ticketScope
        Self.liveContexts.withLock { $0 += 1 }
        if judges, !configuration.trust.acceptsAny, trust.anchorCount == 0 {
            throw .configuration(.noTrustedRoots(lookedIn: trust.lookedIn))
        }
        let setup = ContextSetup(pointer: pointer, configuration: configuration, level: level)
        try setup.run(ticketScope: ticketScope, logsKeys: keyLogSink != nil)
    }

    deinit {
        SSL_CTX_free(pointer)
        Self.liveContexts.withLock { $0 -= 1 }
    }

    /// `true` the first time.
    func takeWarning() -> Bool {
        hasWarned.withLock { hasWarned in
            defer { hasWarned = true }
            return !hasWarned
        }
    }
}

extension TLSConfiguration {
    /// Whether a server with this gives tickets only when the delegate has said yes.
    fileprivate var givesTicketsByHand: Bool {
        role == .server && clientAuthentication != .none && trust.decision != .library
    }

    fileprivate var clientSessions: SessionCache? {
        guard role == .client, !trust.acceptsAny else { return nil }
        return switch resumption {
        case .off: nil
        case .automatic: SessionCache()
        case .cache(let cache): cache
        }
    }

    /// Tickets that were given under other rules for clients are worth nothing.
    fileprivate var ticketScope: [UInt8] {
        guard clientAuthentication != .none else { return Certificate.sha256(Array("open".utf8)) }
        let kind = clientAuthentication == .required ? "required" : "optional"
        return Certificate.sha256(Array(kind.utf8) + trust.fingerprint)
    }
}

extension TrustPolicy {
    /// The same for equal policies, in all processes.
    var fingerprint: [UInt8] {
        var bytes: [UInt8] = []
        func add(_ part: [UInt8]) {
            bytes += withUnsafeBytes(of: UInt64(part.count).littleEndian) { Array($0) } + part
        }
        func add(_ word: String) { add(Array(word.utf8)) }
        switch anchors {
        case .system: add("system")
        case .only(let certificates):
            add("only")
            for certificate in certificates { add(certificate.der) }
        case .systemAnd(let certificates):
            add("and")
            for certificate in certificates { add(certificate.der) }
        }
        add(pins == nil ? "any key" : "pins")
        for pin in (pins ?? []).map(\.description).sorted() { add(pin) }
        switch revocation {
        case .off: add("off")
        case .lists(let lists, of: let extent):
            add("\(extent)")
            for list in lists { add(list.der) }
        case .staple(let demand): add("\(demand)")
        }
        add("\(decision) \(allowsPartialChains) \(maximumDepth) \(acceptsAny)")
        add(clock.map { "\($0.seconds)" } ?? "")
        return Certificate.sha256(bytes)
    }
}
