internal import COpenSSL
internal import Synchronization
internal import Towline

/// The security layer that OpenSSL makes: one connection's.
///
///     preparing ─▶ awaitingHello ─▶ handshaking ◀──▶ waiting, asking ─▶ open ─▶ ended
///         └───────────────(client)──────▲                  every one ─▶ failed
///
/// It lends the library what the socket lends it, and never copies what is under way. The library's
/// handle is freed once, by `deinit`, and knows of the session only until then.
final class TLSSession: SecurityLayer {
    enum Stage {
        /// The configuration is being built, elsewhere.
        case preparing(FirstAnswer<ContextBox.Answer>)

        /// A server whose client has not sent its first record yet.
        case awaitingHello

        /// The library wants more of the peer, or has not been called yet.
        case handshaking

        /// The program chooses whom a server is.
        case choosingServer(FirstAnswer<ServerChoice>)

        /// What the program has chosen is being built, elsewhere.
        case preparingChoice(FirstAnswer<ContextBox.Answer>)

        /// The program chooses who a client is.
        case choosingClient(FirstAnswer<Identity?>)

        /// The program decides whether to trust the peer.
        case asking

        /// Data may go both ways.
        case open

        /// The peer has ended its side.
        case ended

        /// Nothing goes any more.
        case failed(TLSError)
    }

    @exclusivity(unchecked) var stage = Stage.handshaking
    var facts: SecurityFacts?

    /// What stands in for the context until that is built.
    private var configuration: TLSConfiguration?

    @exclusivity(unchecked) var context: TLSContext?

    /// The library's handle.
    @exclusivity(unchecked) var handle: OpaquePointer?

    /// What the library's handle reads and writes; it goes after the handle.
    let wire: UnsafeMutablePointer<Wire>

    var firstRecord: FirstRecord?

    /// Whom a client verifies; on servers nobody.
    var peerName: PeerName?

    /// What the client sends, or has sent, for the server to choose by.
    var sentName: String?

    /// Where sessions of this connection are kept.
    var sessionKey: SessionCache.Key?

    /// Whom the server has been chosen to be, apart from its configuration.
    var chosenIdentity: Identity?

    /// What the client has said, where the program is asked about it.
    var hello: ClientHello?

    /// Whether the program has chosen.
    var isChoiceMade = false

    /// Whether the client has said whom it wants, and that is settled.
    var isHelloSettled = false

    /// Whether the server has asked a client who it is, and the client had nothing to show.
    var lacksIdentity = false

    /// What the program is asked about the peer, or was.
    var question: TrustQuestion?

    /// Why the peer is not trusted.
    var trustFailure: TrustFailure?

    /// Why the library was told to give up.
    var refusal: TLSError?

    /// What a late refusal is encrypted with.
    var trafficSecret: [UInt8] = []

    /// Whether the program has asked for new keys.
    @exclusivity(unchecked) var wantsRekey = false

    /// What waits for the rest of a message that the peer has sent one half of.
    @exclusivity(unchecked) var delayedPlaintext: [UInt8] = []

    /// How much data has come.
    @exclusivity(unchecked) var plaintextByteCount = 0

    /// What the program sees of the connection, once it has asked.
    var info: TLSInfo?

    private static let liveSessions = Atomic(0)

    /// How many there are at the moment, in the whole process.
    static var liveCount: Int { liveSessions.load(ordering: .relaxed) }

    /// A session that does as a configuration says.
    convenience init(_ configuration: TLSConfiguration) {
        if let context = configuration.box.context {
            self.init(context)
        } else {
            self.init(nil)
            self.configuration = configuration
        }
    }

    /// A session of a context that is there already.
    init(_ context: TLSContext?) {
        self.context = context
        wire = .allocate(capacity: 1)
        wire.initialize(to: Wire())
        Self.liveSessions.add(1, ordering: .relaxed)
    }

    deinit {
        // The handle frees its BIO, which points to the wire.
        SSL_free(handle)
        wire.pointee.dropKept()
        wire.deinitialize(count: 1)
        wire.deallocate()
        Self.liveSessions.subtract(1, ordering: .relaxed)
    }

    // MARK: SecurityLayer

    func begin(_ facts: SecurityFacts, into output: SecurityOutput) -> SecurityStep {
        self.facts = facts
        wire.pointee.lend(UnsafeRawBufferPointer(start: nil, count: 0), output)
        defer { wire.pointee.endLoan() }
        if let context { return start(context) }
        guard let configuration else { return fail(.configuration(.noIdentity)) }
        self.configuration = nil
        if let context = configuration.box.context { return start(context) }
        let answer = configuration.box.buildElsewhere(configuration)
        stage = .preparing(answer)
        return answer.await(facts.wake) ? .waits : advance()
    }

    func receive(
        _ input: inout UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer,
        answeringInto output: SecurityOutput
    ) -> (byteCount: Int, step: SecurityStep) {
        wire.pointee.lend(input, output)
        defer {
            input = wire.pointee.rest
            wire.pointee.endLoan()
        }
        if case .open = stage { return decrypt(into: plaintext) }
        return (0, advance())
    }

    func receiveEnd() -> SecurityStep {
        wire.pointee.hasEnded = true
        switch stage {
        case .ended:
            return .ended
        case .failed(let error):
            return .failed(error)
        case .open:
            return endWithoutNotice()
        case .preparing, .awaitingHello, .handshaking, .choosingServer, .preparingChoice,
            .choosingClient, .asking:
            return fail(.interrupted)
        }
    }

    func encrypt(
        _ plaintext: UnsafeRawBufferPointer,
        into output: SecurityOutput
    ) -> SocketError? {
        wire.pointee.lend(UnsafeRawBufferPointer(start: nil, count: 0), output)
        defer { wire.pointee.endLoan() }
        return encrypt(plaintext).map { .security($0) }
    }

    var initialRecordSize: Int { context?.configuration.limits.initialRecordSize ?? 16_384 }

    func finish(into output: SecurityOutput) {
        guard let handle else { return }
        if case .failed = stage { return }
        // In the middle of a message of the peer's the library refuses, and would say so later.
        guard SSL_in_init(handle) == 0 else { return }
        wire.pointee.lend(UnsafeRawBufferPointer(start: nil, count: 0), output)
        defer { wire.pointee.endLoan() }
        LibraryErrors.clear()
        _ = SSL_shutdown(handle)
        LibraryErrors.clear()
    }

    func ask(_ socket: StreamSocket, _ delegate: any StreamSocketDelegate) throws {
        guard let question, let facts else { return }
        guard let delegate = delegate as? any StreamSocketTLSDelegate else {
            throw SocketError.security(TLSError.configuration(.noTrustDelegate))
        }
        let answer = question.answer
        _ = answer.await(facts.wake)
        try delegate.socket(socket, didReceive: question.trust) { answer.give($0) }
    }

    var timeoutError: any SecurityError {
        switch stage {
        case .asking: TLSError.timedOut(.trust)
        case .preparing, .awaitingHello: TLSError.timedOut(.hello)
        case .handshaking where wire.pointee.takenByteCount == 0: TLSError.timedOut(.hello)
        default: TLSError.timedOut(.flight)
        }
    }

    func refusal(ofEarlyBytes byteCount: Int) -> (any SecurityError)? {
        guard let settings = configuration ?? context?.configuration,
            settings.role == .client, settings.requiresEmptyReadBuffer, byteCount > 0
        else { return nil }
        return TLSError.unexpectedPlaintext(byteCount: byteCount)
    }

    // MARK: What callbacks ask

    var applicationProtocols: [String] { context?.configuration.applicationProtocols ?? [] }

    var ticketKeys: [TicketKey] { context?.configuration.ticketKeys.keys ?? [] }

    // MARK: Ending

    /// Gives the connection up.
    func fail(_ error: TLSError) -> SecurityStep {
        stage = .failed(error)
        trafficSecret = []
        return .failed(error)
    }
}
