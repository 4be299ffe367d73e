import TestSupport
import Testing
import Towline
import TowlineTLS

/// A recorder that is asked whether to trust its peer.
final class TrustRecorder: Recorder, StreamSocketTLSDelegate {
    private(set) var questions: [TLSTrust] = []
    private(set) var answers: [@Sendable (Bool) -> Void] = []
    var whenAsked: (StreamSocket, @escaping @Sendable (Bool) -> Void) throws -> Void = { _, _ in }

    func socket(
        _ socket: StreamSocket,
        didReceive trust: TLSTrust,
        completionHandler: @escaping @Sendable (Bool) -> Void
    ) throws {
        questions.append(trust)
        answers.append(completionHandler)
        try whenAsked(socket, completionHandler)
    }
}

/// Which side's program is asked.
enum Asking: CaseIterable, Sendable {
    case client, server
}

/// Both ends of a connection, one of which has its program decide whom to trust.
///
/// Each side has written something, and reads, behind the handshake.
struct AskingPair {
    static let fromClient = "from the client"
    static let fromServer = "from the server"

    let pair: SecurePair
    let asking: Asking
    /// Of the side that is asked.
    let recorder: TrustRecorder
    /// Where the client would keep tickets.
    let sessions: SessionCache

    /// - Parameters:
    ///   - asking: Who is asked.
    ///   - version: What is spoken.
    ///   - timeout: The longest that the handshake may take on the side that is asked.
    ///   - buffer: The size of the kernel's buffers.
    ///   - recorder: What is asked.
    ///   - isAsked: Whether to go on until it is.
    /// - Throws: What the calls throw.
    init(
        _ asking: Asking,
        _ version: TLSVersion = .tls13,
        timeout: Duration = .seconds(10),
        buffer: CInt? = nil,
        recorder: TrustRecorder = TrustRecorder(),
        isAsked: Bool = true
    ) throws {
        let sessions = SessionCache()
        let (client, server) = try Self.configurations(asking, version, sessions)
        (self.asking, self.recorder, self.sessions) = (asking, recorder, sessions)
        let clientLimit = asking == .client ? timeout : .seconds(10)
        let serverLimit = asking == .server ? timeout : .seconds(10)
        pair = try SecurePair(
            buffer: buffer,
            clientRecorder: asking == .client ? recorder : Recorder(),
            makeServerRecorder: { asking == .server ? recorder : Recorder() },
            prepare: { socket, _ in
                try socket.startTLS(client, timeout: clientLimit)
                try socket.write(Self.fromClient, tag: 1)
                try socket.read(toLength: Self.fromServer.utf8.count, tag: 2)
            },
            accepting: { socket, _ in
                try socket.startTLS(server, timeout: serverLimit)
                try socket.write(Self.fromServer, tag: 3)
                try socket.read(toLength: Self.fromClient.utf8.count, tag: 4)
            }
        )
        guard isAsked else { return }
        #expect(try pair.loop.turn { !recorder.questions.isEmpty })
        // Whatever the other side does by itself is done.
        try pair.loop.turn(times: 5)
    }

    static func configurations(
        _ asking: Asking,
        _ version: TLSVersion,
        _ sessions: SessionCache
    ) throws -> (client: TLSConfiguration, server: TLSConfiguration) {
        var client = try TestTLS.client()
        client.maximumVersion = version
        client.resumption = .cache(sessions)
        client.identity = try TestTLS.identity("client/alice")
        var server = try TestTLS.server()
        server.clientAuthentication = .required
        server.trust = client.trust
        if asking == .client {
            client.trust.decision = .delegate
        } else {
            server.trust.decision = .delegate
        }
        try client.prepare()
        try server.prepare()
        return (client, server)
    }

    var loop: Loop { pair.loop }

    /// The side that is asked.
    var socket: StreamSocket { asking == .client ? pair.client : pair.server }

    /// The other side.
    var peer: StreamSocket { asking == .client ? pair.server : pair.client }

    var peerRecorder: Recorder { asking == .client ? pair.serverRecorder : pair.clientRecorder }

    /// Whether the program knows of nothing but the connection, and the question.
    var isUndecided: Bool {
        recorder.heard.allSatisfy { if case .didConnect = $0 { true } else { false } }
    }

    /// Answers from a thread that has nothing to do with the reactor.
    func answer(_ isTrusted: Bool, question: Int = 0) throws {
        let answer = recorder.answers[question]
        try BackgroundWork { answer(isTrusted) }.value()
    }

    /// Turns until each side has what the other one wrote.
    func turnToTheData() throws {
        let (client, server) = (pair.clientRecorder, pair.serverRecorder)
        let isThere = try loop.turn {
            client.heard.contains(.didRead(Self.fromServer, tag: 2))
                && server.heard.contains(.didRead(Self.fromClient, tag: 4))
        }
        #expect(isThere, "\(client.heard), \(server.heard)")
    }

    /// Turns until the asked side has had its farewell.
    func turnToTheReport() throws -> DisconnectReport {
        let recorder = recorder
        #expect(try loop.turn { recorder.isDisconnected })
        return try #require(recorder.reports.first)
    }
}
