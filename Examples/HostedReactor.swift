// An echo server on a reactor that another loop drives; the argument says which one.

import Dispatch
import Foundation
import Glibc
import Towline

/// Echoes lines; says each of 3 ticks of a timer, then what a job of another thread says.
final class Host: StreamListenerDelegate, StreamSocketDelegate {
    private let reactor: Reactor

    init(_ reactor: Reactor) { self.reactor = reactor }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        socket.delegate = self
        try socket.read(to: .lf)
        tick(3, socket.id)
    }

    func socket(_ socket: StreamSocket, didRead line: RawSpan, tag: Int) throws {
        if line == "quit\n" {
            reactor.stop()
        } else {
            try socket.write(line)
            try socket.read(to: .lf)
        }
    }

    private func tick(_ count: Int, _ id: SocketID) {
        reactor.schedule(after: .milliseconds(5)) { [self] in
            guard let socket = reactor.streamSocket(id) else { return }
            say("tick\n", to: socket)
            if count > 1 { tick(count - 1, id) } else { postJob(reactor.handle, id) }
        }
    }

    private func postJob(_ handle: ReactorHandle, _ id: SocketID) {
        Thread.detachNewThread {
            handle.execute { reactor in
                guard let socket = reactor.streamSocket(id) else { return }
                say("job\n", to: socket)
            }
        }
    }
}

func say(_ text: String, to socket: StreamSocket) {
    do {
        try socket.write(text)
    } catch {
        complain("\(error)")
    }
}

func complain(_ text: String) {
    let line = Array("hosted-reactor: \(text)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
}

/// Makes a turn for a host that has nobody to throw to; whether the reactor has ended with it.
func turn(_ reactor: Reactor) -> Bool {
    do {
        return try reactor.turn(waitingAtMost: .zero).hasEnded
    } catch {
        complain("\(error)")
        exit(1)
    }
}

/// Kept for as long as the process lasts.
nonisolated(unsafe) var sources: [any DispatchSourceRead] = []

func hostOnMainQueue(_ reactor: Reactor) throws {
    let source = DispatchSource.makeReadSource(
        fileDescriptor: try reactor.readinessDescriptor,
        queue: .main
    )
    nonisolated(unsafe) let reactor = reactor
    source.setEventHandler {
        if turn(reactor) { finish(reactor) }
    }
    source.activate()
    sources.append(source)
}

func hostOnPoll(_ reactor: Reactor) throws {
    var waits = [pollfd(fd: try reactor.readinessDescriptor, events: Int16(POLLIN), revents: 0)]
    while poll(&waits, 1, -1) >= 0 || errno == EINTR {
        if turn(reactor) { return }
    }
}

func hostOnReactor(_ reactor: Reactor) throws {
    let outer = try Reactor()
    let source = try ReadinessSource(
        reactor: outer,
        descriptor: try reactor.readinessDescriptor
    ) {
        if turn(reactor) { outer.stop() }
    }
    try outer.run()
    withExtendedLifetime(source) {}
}

func serve(_ hostName: String) throws {
    var configuration = Reactor.Configuration()
    let isOnQueue = hostName == "dispatch-main" || hostName == "run-loop"
    if isOnQueue { configuration.hosting = .serialQueue }
    let reactor = try Reactor(configuration)
    let listener = StreamListener(reactor: reactor)
    listener.keep(Host(reactor))
    try listener.listen(on: .ipv4(.loopback, port: 0))
    if let address = listener.localAddress { print("listening on \(address)") }
    fflush(nil)
    switch hostName {
    case "poll":
        try hostOnPoll(reactor)
        finish(reactor)
    case "reactor":
        try hostOnReactor(reactor)
        finish(reactor)
    default:
        try hostOnMainQueue(reactor)
        if hostName == "run-loop" { RunLoop.main.run() }
        dispatchMain()
    }
}

/// The reactor has ended, and so does the program.
func finish(_ reactor: Reactor) -> Never {
    print("turns \(reactor.figures.turns)")
    exit(0)
}

let hosts = ["dispatch-main", "run-loop", "poll", "reactor"]
let words = CommandLine.arguments.dropFirst()
if words == ["--help"] {
    print("usage: hosted-reactor \(hosts.joined(separator: "|"))")
} else if let name = words.first, words.count == 1, hosts.contains(name) {
    do {
        try serve(name)
    } catch {
        complain("\(error)")
        exit(1)
    }
} else {
    complain("usage: hosted-reactor \(hosts.joined(separator: "|"))")
    exit(2)
}
