import TestSupport
import Testing
import Towline
import TowlineTLS

/// A server of ours with TLS, at a port of the kernel's choice, for peers of any kind.
struct TLSHost {
    let loop: Loop
    let acceptor = Acceptor()
    let port: UInt16
    private let listener: StreamListener

    /// - Parameters:
    ///   - tls: How each accepted socket is secured; `nil`, in no way.
    ///   - loop: The reactor to turn; one of its own.
    ///   - limit: The longest that a handshake may take.
    ///   - answer: What is done with each accepted socket, once `startTLS` was called.
    /// - Throws: If it cannot listen.
    init(
        _ tls: TLSConfiguration?,
        on loop: Loop? = nil,
        within limit: Duration = .seconds(10),
        answer: @escaping (StreamSocket, Recorder) throws -> Void = { _, _ in }
    ) throws {
        self.loop = try loop ?? Loop()
        listener = StreamListener(reactor: self.loop.reactor, delegate: acceptor)
        try tls?.prepare()
        acceptor.whenAccepted = { socket, recorder in
            if let tls { try socket.startTLS(tls, timeout: limit) }
            try answer(socket, recorder)
        }
        try listener.listen(on: .ipv4(.loopback, port: 0))
        port = try #require(listener.localAddress?.port)
    }

    /// A server that takes a request of HTTP, and answers it with a line of text.
    static func http(
        _ tls: TLSConfiguration,
        body: @escaping (StreamSocket) -> String = { _ in "hello" }
    ) throws -> TLSHost {
        try TLSHost(tls) { socket, recorder in
            recorder.whenRead = { socket, _, _ in
                let text = body(socket)
                try socket.write(
                    """
                    HTTP/1.1 200 OK\r\nConnection: close\r\n\
                    Content-Length: \(text.utf8.count)\r\n\r\n\(text)
                    """
                )
                socket.disconnect(.afterWrites)
            }
            try socket.read(to: Delimiter(Array("\r\n\r\n".utf8)), maxLength: 8_192)
        }
    }

    var address: SocketAddress { .ipv4(.loopback, port: port) }

    /// What ended each accepted socket, in the order of their accepting; those that go on are left
    /// out.
    var reports: [DisconnectReport] { acceptor.recorders.flatMap(\.reports) }

    /// Replaces the listener's settings, as a program that reloads its files does.
    func replace(_ tls: TLSConfiguration) throws { try listener.replaceTLS(tls) }

    /// Turns until a program has ended.
    func turn(untilTheEndOf process: ChildProcess) throws -> ChildProcess.Exit {
        var exit: ChildProcess.Exit?
        let hasEnded = try loop.turn(within: .seconds(20)) {
            exit = try? process.waitForExit(within: .zero)
            return exit != nil
        }
        #expect(hasEnded, "\(process.written)")
        return try #require(exit)
    }
}

/// A socket of ours that connects with TLS, to a peer of any kind.
struct TLSLine {
    let loop: Loop
    let socket: StreamSocket
    let recorder: Recorder
    /// A program whose output is taken while the reactor turns, lest it waits for that.
    private let process: ChildProcess?

    /// Connects to a port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - tls: How it is secured.
    ///   - loop: The reactor to turn; one of its own.
    ///   - recorder: What is told.
    ///   - process: The program that listens there.
    ///   - before: What is asked for in the clear.
    /// - Throws: What the calls throw.
    init(
        to port: UInt16,
        _ tls: TLSConfiguration,
        on loop: Loop? = nil,
        recorder: Recorder = Recorder(),
        process: ChildProcess? = nil,
        before: (StreamSocket) throws -> Void = { _ in }
    ) throws {
        self.process = process
        self.loop = try loop ?? Loop()
        self.recorder = recorder
        socket = StreamSocket(reactor: self.loop.reactor, delegate: recorder)
        try socket.connect(to: .ipv4(.loopback, port: port))
        try before(socket)
        try socket.startTLS(tls)
    }

    /// Turns until something holds.
    func turn(until condition: () -> Bool) throws -> Bool {
        try loop.turn {
            _ = try? process?.hasWritten("")
            return condition()
        }
    }

    /// Turns until it is secured.
    func secure(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let recorder = recorder
        let isSecured = try turn {
            recorder.heard.contains(.didSecure) || recorder.isDisconnected
        }
        #expect(
            isSecured && !recorder.isDisconnected,
            "\(recorder.reports)",
            sourceLocation: sourceLocation
        )
    }

    /// Turns until it has ended.
    func turnToTheReport() throws -> DisconnectReport {
        let recorder = recorder
        #expect(try turn { recorder.isDisconnected })
        return try #require(recorder.reports.first)
    }

    /// Asks for a line, and turns until it is there.
    func readLine(tag: Int) throws -> String {
        let recorder = recorder
        let before = recorder.readBytes.count
        try socket.read(to: .lf, tag: tag)
        #expect(
            try turn { recorder.readBytes.count > before || recorder.isDisconnected },
            "\(recorder.reports)"
        )
        return String(decoding: recorder.readBytes[before...], as: UTF8.self)
    }
}
