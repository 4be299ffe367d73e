// Forwards connections: each one accepted is tied to one of its own to somewhere else.

import ExampleSupport
import Towline

final class Forwarder: ServerDelegate {
    let server: Server
    let target: Target
    let idleTimeout: Duration?
    var openCount = 0
    var refusedCount = 0
    var completeCount = 0
    var brokenCount = 0
    var byteCounts = (there: 0, back: 0)
    private var lastComplaint: ContinuousClock.Instant?

    init(_ server: Server, _ options: Options) throws {
        self.server = server
        idleTimeout = try options.seconds("--idle-timeout")
        guard let target = try options.value("--to", Target.init) else {
            throw UsageError("--to is missing")
        }
        self.target = target
    }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        let link = Link(socket, self)
        // A client may send its whole question and its end before anybody is there to hear it.
        socket.halfClosePolicy = .keepOpen
        try target.connect(link.upstream)
        link.upstream.keep(link)
        socket.keep(link)
        openCount += 1
    }

    /// No more than one line a second: whoever connects could fill a disk otherwise.
    func note(refusal report: DisconnectReport) {
        openCount -= 1
        // Without an error it was the client that gave up.
        guard report.error != nil else { return }
        refusedCount += 1
        let now = ContinuousClock.now
        if let lastComplaint, now - lastComplaint < .seconds(1) { return }
        lastComplaint = now
        server.complain("\(report)")
    }

    func note(end report: SpliceReport) {
        openCount -= 1
        if report.reason == .complete { completeCount += 1 } else { brokenCount += 1 }
        byteCounts.there += report.bytesToSecond
        byteCounts.back += report.bytesToFirst
    }

    func figures() -> KeyValuePairs<String, Int> {
        [
            "forward_open": openCount, "forward_refused_total": refusedCount,
            "forward_complete_total": completeCount, "forward_broken_total": brokenCount,
            "forward_bytes_there_total": byteCounts.there,
            "forward_bytes_back_total": byteCounts.back,
        ]
    }
}

/// Where connections go on to.
enum Target {
    case anyOf([SocketAddress])
    case host(String, port: UInt16)

    init?(_ text: String) {
        let addresses = text.split(separator: ",").compactMap { SocketAddress(String($0)) }
        if addresses.count == text.split(separator: ",").count, !addresses.isEmpty {
            self = .anyOf(addresses)
            return
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, let port = UInt16(parts[1]) else { return nil }
        self = .host(String(parts[0]), port: port)
    }

    func connect(_ socket: StreamSocket) throws {
        switch self {
        case .anyOf(let addresses): try socket.connect(toAnyOf: addresses, timeout: .seconds(10))
        case .host(let name, let port):
            try socket.connect(toHost: name, port: port, timeout: .seconds(10))
        }
    }
}

/// A client whose connection onwards is still to be made; both sockets keep it until they are tied.
final class Link: StreamSocketDelegate {
    let client: StreamSocket
    let upstream: StreamSocket
    let forwarder: Forwarder

    init(_ client: StreamSocket, _ forwarder: Forwarder) {
        self.client = client
        self.forwarder = forwarder
        upstream = StreamSocket(reactor: forwarder.server.reactor)
        upstream.delegate = self
    }

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        guard client.state == .connected else { return upstream.disconnect() }
        let forwarder = forwarder
        try splice(client, upstream, idleTimeout: forwarder.idleTimeout) {
            forwarder.note(end: $0)
        }
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        guard socket === upstream else { return upstream.disconnect() }
        forwarder.note(refusal: report)
        client.abort()
    }

    /// Whoever is not connected onwards yet has nothing to finish.
    func socketShouldFinish(_ socket: StreamSocket) { socket.disconnect() }
}

@main
enum PortForwarder {
    static func main() {
        let help = """
              --to HOST:PORT or ADDRESS[,ADDRESS]...
                               where to connect for each client; of several whichever answers first
              --idle-timeout SECONDS
                               cut connections on which nothing has moved for so long; never
            """
        let options = ["--to", "--idle-timeout"]
        Server.main("port-forwarder", options: options, help: help) { server, options in
            let forwarder = try Forwarder(server, options)
            try server.run(forwarder, figures: forwarder.figures)
        }
    }
}
