internal import Glibc
public import Towline

/// What the servers of this folder have in common: where they listen, their statistics, and their
/// end by signal.
public final class Server {
    private static let addressOptions = ["--host", "--port", "--unix"]
    private static let options = ["--backend", "--drain", "--stats", "--pulse"]

    private static let addressHelp = """
          --host ADDRESS   the IPv4 or IPv6 address to listen on; 127.0.0.1
          --port PORT      the port, 0 through 65535; 0, the default, has the kernel choose one
          --unix PATH      listen on a Unix socket instead; @NAME for an abstract name

        """

    private static let help = """
          --backend NAME   what the reactor runs on: automatic, epoll or ring; automatic
          --drain SECONDS  how long SIGTERM leaves to what is being sent; 5
          --stats ADDRESS  answer HTTP with figures at /metrics, /stats and /health, on a loopback
                           address such as 127.0.0.1:0, or on the path of a Unix socket
          --pulse SECONDS  have a timer of this period, whose lateness is one of the figures

        Prints one line, "listening on ADDRESS:PORT", once it accepts, and with --stats a second,
        "statistics on ADDRESS:PORT", and a last one when it ends. SIGTERM and SIGINT end it after
        what is being sent has been sent; a second one ends it at once.
        """

    /// Runs a server program to its end.
    ///
    /// - Parameters:
    ///   - name: How it is called.
    ///   - options: Its own options, each with a value.
    ///   - help: Lines of `--help` about them.
    ///   - takesAddress: Whether it listens where `--host`, `--port` and `--unix` say.
    ///   - body: Makes its delegate, and calls ``run(_:on:figures:)``.
    public static func main(
        _ name: String,
        options: [String],
        help: String,
        takesAddress: Bool = true,
        _ body: (Server, Options) throws -> Void
    ) -> Never {
        let program = Program(
            name,
            usage: """
                usage: \(name) [OPTION VALUE]...

                \(takesAddress ? addressHelp : "")\(help)
                \(Self.help)
                """,
            options: Self.options + options + (takesAddress ? addressOptions : [])
        )
        program.main { options in try body(Server(program, options), options) }
    }

    /// What everything runs on.
    public let reactor: Reactor

    let program: Program
    private let options: Options
    var signals: [SignalSource]
    private let page: StatsPage?

    /// Makes the reactor, with nothing open yet but what waits for signals.
    private init(_ program: Program, _ options: Options) throws {
        self.program = program
        self.options = options
        let backend = try options.value("--backend", BackendChoice.init(rawValue:))
        let limit = try options.seconds("--drain") ?? .seconds(5)
        let address = try options.value("--stats", StatsPage.address(of:))
        let reactor = try Reactor(Reactor.Configuration(backend: backend ?? .automatic))
        self.reactor = reactor
        // Before anything is open, so that no failure leaves a socket file behind.
        var isDraining = false
        let end = try SignalSource(reactor: reactor, signals: [SIGTERM, SIGINT]) {
            [unowned reactor] _ in
            guard !isDraining else {
                reactor.stop()
                return
            }
            isDraining = true
            reactor.drain(within: limit) { [unowned reactor] report in
                if address != nil { Self.printLastLine(report, reactor.figures) }
                reactor.stop()
            }
        }
        signals = [end]
        let period = try options.seconds("--pulse")
        page = address.map { StatsPage(reactor, at: $0, pulse: period.map { Pulse(reactor, $0) }) }
    }

    /// Listens, says so, and serves until a signal comes.
    ///
    /// - Parameters:
    ///   - delegate: Who hears of each connection.
    ///   - address: Where to listen; `nil`, where the options say.
    ///   - figures: What the program itself has to tell each time somebody asks; the name of a
    ///     count that only grows ends with `_total`.
    ///   - prepare: Is given the listener before it listens.
    /// - Throws: ``UsageError``, or what `prepare` or listening does; everything is closed then.
    public func run(
        _ delegate: any StreamListenerDelegate,
        on address: SocketAddress? = nil,
        figures: @escaping () -> KeyValuePairs<String, Int> = { [:] },
        prepare: (StreamListener) throws -> Void = { _ in }
    ) throws {
        let listener = StreamListener(reactor: reactor, delegate: delegate)
        do {
            try prepare(listener)
            try listen(listener, address)
            try page?.listen(figures: figures)
        } catch {
            reactor.stop()
            try reactor.run()
            throw error
        }
        if let address = listener.localAddress { print("listening on \(address)") }
        if let address = page?.localAddress { print("statistics on \(address)") }
        fflush(nil)
        try reactor.run()
        withExtendedLifetime((delegate, signals, page)) {}
    }

    /// Writes a line to standard error.
    public func complain(_ text: String) {
        program.complain(text)
    }

    /// The figures that nobody can ask for any more.
    private static func printLastLine(_ report: DrainReport, _ figures: ReactorFigures) {
        print(
            "\(report); \(figures.accepted) accepted,",
            "\(figures.receivedBytes) bytes received, \(figures.sentBytes) sent"
        )
        fflush(nil)
    }

    private func listen(_ listener: StreamListener, _ address: SocketAddress?) throws {
        if let address {
            try listener.listen(on: address)
        } else if let path = options.text("--unix") {
            try listener.listen(onUnixPath: path)
        } else {
            let host = try options.value("--host", IPAddress.init) ?? .ipv4(.loopback)
            let port = try options.value("--port") { UInt16($0) } ?? 0
            try listener.listen(on: SocketAddress(host, port: port))
        }
    }
}
