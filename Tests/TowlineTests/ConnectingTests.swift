import Glibc
import TestSupport
import Testing
import TowlineTestKit

@testable import Towline

/// Connects by name and address on a simulated network, where time is exact.
@Suite("Connecting") struct ConnectingTests {
    let network = SimulatedNetwork(seed: 1)
    let recorder = Recorder()
    let reactor: Reactor
    let socket: StreamSocket

    static let four = SocketAddress.ipv4(.loopback, port: 1883)
    static let six = SocketAddress.ipv6(.loopback, port: 1883)
    private let refused = SystemCallError(call: "connect", errno: ECONNREFUSED)

    init() throws {
        reactor = try network.makeReactor()
        socket = StreamSocket(reactor: reactor, delegate: recorder)
    }

    private func turn(until condition: () -> Bool) throws {
        for _ in 0..<1_000 where !condition() {
            try reactor.turn(waitingAtMost: .seconds(100))
        }
        #expect(condition(), "it never came: \(recorder.events)")
    }

    private func turnToTheEnd() throws -> DisconnectReport {
        try turn { !recorder.reports.isEmpty }
        return try #require(recorder.reports.last)
    }

    private func serve(_ address: SocketAddress) throws -> SimulatedServer {
        try #require(network.listen(at: address))
    }

    private func end() throws {
        reactor.stop()
        try reactor.run()
        #expect(reactor.figures.openSockets == 0)
    }

    // MARK: The call

    @Test("C1 What is wrong is refused by the call, and starts nothing")
    func wrongCalls() throws {
        func check(_ reason: String, _ call: () throws(SocketError) -> Void) {
            do {
                try call()
                Issue.record("not refused: \(reason)")
            } catch {
                #expect("\(error)".contains(reason), "\(error)")
            }
            #expect(socket.state == .idle && socket.requestedHost == nil)
        }
        check("host must be") { () throws(SocketError) in
            try socket.connect(toHost: "", port: 1)
        }
        check("host must be") { () throws(SocketError) in
            try socket.connect(toHost: "a\0b", port: 1)
        }
        check("host must be") { () throws(SocketError) in
            try socket.connect(toHost: "fe80::1%nosuch0", port: 1)
        }
        check("port must be") { () throws(SocketError) in
            try socket.connect(toHost: "box.test", port: 0)
        }
        check("there must be an address") { () throws(SocketError) in
            try socket.connect(toAnyOf: [])
        }
        check("port must be") { () throws(SocketError) in
            try socket.connect(toAnyOf: [Self.four, .ipv4(.loopback, port: 0)])
        }
        check("interface nosuch0 must be one of the host's") { () throws(SocketError) in
            try socket.connect(to: Self.four, via: .named("nosuch0"))
        }
        check("a family must be enabled") { () throws(SocketError) in
            try socket.connect(to: Self.six, via: .address(.ipv4(.loopback)))
        }
        socket.addressFamilies = [.ipv4]
        check("a family must be enabled") { () throws(SocketError) in
            try socket.connect(to: Self.six)
        }
        socket.addressFamilies = []
        check("no address family is enabled") { () throws(SocketError) in
            try socket.connect(toHost: "box.test", port: 1)
        }
        try reactor.turn(waitingAtMost: .zero)
        #expect(recorder.events == [] && network.names.lookups == [])
        try end()
    }

    @Test("C2 localhost and literals reach nobody's resolver")
    func noLookup() throws {
        let servers = [try serve(Self.four), try serve(Self.six)]
        let hosts = [
            ("localhost", Self.six), ("loopback", Self.six), ("127.0.0.1", Self.four),
            ("::1", Self.six), ("[::1]", Self.six),
        ]
        for (index, (host, address)) in hosts.enumerated() {
            try socket.connect(toHost: host, port: 1883)
            try turn { recorder.events.count == 2 * index + 1 }
            #expect(recorder.events.last == .didConnect(address))
            #expect(socket.requestedHost == host && socket.remoteAddress == address)
            socket.disconnect()
            try turn { recorder.reports.count == index + 1 }
        }
        #expect(network.names.lookups == [])
        try end()
        withExtendedLifetime(servers) {}
    }

    // MARK: Time

    @Test("C3 The timeout covers the lookup, and says that no address was known yet")
    func lookupTakesTooLong() throws {
        network.names.answer("box.test", with: .silence)
        try socket.connect(toHost: "box.test", port: 1883, timeout: .seconds(3))
        #expect(socket.remoteAddress == nil)
        let start = network.now
        let report = try turnToTheEnd()
        #expect(network.now.since(start) == .seconds(3))
        #expect(report.error == .connectTimedOut && report.phase == .resolving)
        #expect(
            "\(report)" == """
                connect to box.test:1883 failed while resolving after 3000 ms: connect timed out
                """
        )
        try end()
    }

    @Test("C3 What the lookup has used is not there for the attempts")
    func bothTakeTime() throws {
        network.silence(Self.four)
        network.names.answer("box.test", with: .addresses([.ipv4(.loopback)]), after: .seconds(2))
        try socket.connect(toHost: "box.test", port: 1883, timeout: .seconds(3))
        let start = network.now
        let report = try turnToTheEnd()
        #expect(network.now.since(start) == .seconds(3))
        #expect(report.error == .connectTimedOut && report.phase == .connecting)
        #expect(report.attempts.map(\.address) == [Self.four])
        #expect(
            "\(report)" == """
                connect to box.test:1883 failed while connecting after 3000 ms: connect timed out: \
                127.0.0.1:1883 connection timed out (ETIMEDOUT)
                """
        )
        try end()
    }

    @Test("C3 A timeout of zero is a look, also for a name")
    func zero() throws {
        network.names["box.test"] = [.ipv4(.loopback)]
        network.silence(Self.four)
        for host in ["box.test", "127.0.0.1"] {
            recorder.removeAll()
            try socket.connect(toHost: host, port: 1883, timeout: .zero)
            let start = network.now
            #expect(try turnToTheEnd().error == .connectTimedOut)
            #expect(network.now.since(start) < .milliseconds(1))
        }
        try end()
    }

    // MARK: The race

    @Test("C4, Wish 18: a family that does not answer costs one delay, and its attempt is closed")
    func silentFamily() throws {
        network.names["box.test"] = [.ipv6(.loopback), .ipv4(.loopback)]
        network.silence(Self.six)
        let server = try serve(Self.four)
        try socket.connect(toHost: "box.test", port: 1883)
        let start = network.now
        try turn { !recorder.events.isEmpty }
        #expect(recorder.events == [.didConnect(Self.four)])
        let elapsed = network.now.since(start)
        #expect(elapsed >= .milliseconds(250) && elapsed < .milliseconds(260))
        try reactor.turn(waitingAtMost: .zero)
        #expect(reactor.figures.openSockets == 1, "the loser's slot is free")
        try socket.write("hello", tag: 1)
        try turn { recorder.events.count == 2 }
        socket.disconnect()
        let report = try turnToTheEnd()
        #expect(report.host == "box.test" && report.attempts.isEmpty)
        #expect("\(report)".hasPrefix("connection with box.test:1883 (127.0.0.1:1883) closed"))
        try end()
        withExtendedLifetime(server) {}
    }

    @Test("C4 A refused address is followed by the next at once")
    func refusedFirst() throws {
        network.names["box.test"] = [.ipv6(.loopback), .ipv4(.loopback)]
        let server = try serve(Self.four)
        try socket.connect(toHost: "box.test", port: 1883)
        let start = network.now
        try turn { !recorder.events.isEmpty }
        #expect(recorder.events == [.didConnect(Self.four)])
        #expect(network.now.since(start) < .milliseconds(10))
        socket.disconnect()
        #expect(try turnToTheEnd().attempts == [ConnectAttempt(address: Self.six, error: refused)])
        try end()
        withExtendedLifetime(server) {}
    }

    @Test("C4 When all have failed the report has each, and the text names both and gives a hint")
    func allRefused() throws {
        network.names["box.test"] = [.ipv6(.loopback), .ipv4(.loopback)]
        try socket.connect(toHost: "box.test", port: 1883)
        let report = try turnToTheEnd()
        #expect(report.error == .system(refused) && report.phase == .connecting)
        #expect(report.attempts.map(\.address) == [Self.six, Self.four])
        #expect(
            "\(report)".replacing("less than 1 ms", with: "3 ms") == """
                connect to box.test:1883 failed while connecting after 3 ms: [::1]:1883 \
                connection refused (ECONNREFUSED); 127.0.0.1:1883 connection refused \
                (ECONNREFUSED). Is the server running?
                """
        )
        try end()
    }

    @Test("C4 The error that says most is told, whichever came last")
    func mostInformative() throws {
        network.inject(ENETUNREACH, into: .connect, after: 1)
        try socket.connect(toAnyOf: [Self.four, Self.six])
        let report = try turnToTheEnd()
        #expect(report.error == .system(refused))
        #expect(report.attempts.map(\.error.errno) == [ECONNREFUSED, ENETUNREACH])
        #expect("\(report)".hasPrefix("connect to any of 2 addresses failed while connecting"))
        try end()
    }

    @Test("C4 The delay is the socket's, and the family that it prefers comes first")
    func settings() throws {
        network.names["box.test"] = [.ipv6(.loopback), .ipv4(.loopback)]
        network.silence(Self.four)
        let server = try serve(Self.six)
        socket.preferredFamily = .ipv4
        socket.connectionAttemptDelay = .seconds(2)
        try socket.connect(toHost: "box.test", port: 1883)
        let start = network.now
        try turn { !recorder.events.isEmpty }
        #expect(recorder.events == [.didConnect(Self.six)])
        #expect(network.now.since(start) >= .seconds(2))
        #expect(socket.preferredFamily == .ipv4, "settings stay")
        socket.disconnect()
        _ = try turnToTheEnd()
        #expect(socket.connectionAttemptDelay == .seconds(2) && socket.requestedHost == nil)
        try end()
        withExtendedLifetime(server) {}
    }

    @Test("C4 A family that is off is not tried, and a name with no other fails as such")
    func familyOff() throws {
        network.names["box.test"] = [.ipv6(.loopback)]
        socket.addressFamilies = [.ipv4]
        try socket.connect(toHost: "box.test", port: 1883)
        let report = try turnToTheEnd()
        #expect(report.error == .resolutionFailed(host: "box.test", .noUsableAddress))
        #expect(report.phase == .resolving && report.attempts.isEmpty)
        try end()
    }

    @Test("C7 A full Unix backlog among several addresses is tried again")
    func busy() throws {
        let place = try #require(SocketAddress("@towline-race"))
        var peers: [SimulatedPeer] = []
        let server = try #require(network.listen(at: place, backlog: 0) { peers.append($0) })
        network.inject(EAGAIN, into: .connect)
        network.silence(Self.four)
        try socket.connect(toAnyOf: [place, Self.four])
        try turn { !recorder.events.isEmpty }
        #expect(recorder.events == [.didConnect(place)])
        try end()
        withExtendedLifetime(server) {}
    }

    // MARK: Ends and answers

    @Test("C10, E6 A disconnect during the lookup or the race ends without an error, in its phase")
    func givenUp() throws {
        network.names.answer("slow.test", with: .addresses([.ipv4(.loopback)]), after: .seconds(1))
        network.names["box.test"] = [.ipv6(.loopback), .ipv4(.loopback)]
        network.silence(Self.four)
        network.silence(Self.six)
        for (host, phase) in [("slow.test", "resolving"), ("box.test", "connecting")] {
            recorder.removeAll()
            try socket.connect(toHost: host, port: 1883)
            for _ in 0..<4 { try reactor.turn(waitingAtMost: .milliseconds(100)) }
            #expect(socket.state == .connecting)
            socket.disconnect()
            #expect(socket.state == .disconnecting)
            let report = try turnToTheEnd()
            #expect(report.error == nil && report.phase.rawValue == phase)
            #expect("\(report)" == "connect to \(host):1883 was given up while \(phase)")
            #expect(reactor.figures.openSockets == 0)
        }
        try reactor.turn(waitingAtMost: .seconds(2))
        #expect(recorder.events.count == 1, "the late answer finds nobody")
        try end()
    }

    @Test("C10 A disconnect right behind the call, with notice or without, leaves nothing behind")
    func givenUpAtOnce() throws {
        try socket.connect(to: Self.four)
        socket.disconnect()
        #expect(try turnToTheEnd().error == nil)
        try socket.connect(toHost: "localhost", port: 1883)
        socket.disconnect(notifyingDelegate: false)
        #expect(socket.state == .idle)
        network.silence(Self.four)
        network.silence(Self.six)
        try socket.connect(toHost: "localhost", port: 1883)
        for _ in 0..<6 { try reactor.turn(waitingAtMost: .milliseconds(100)) }
        #expect(reactor.figures.openSockets == 3, "the socket and two attempts")
        socket.disconnect(notifyingDelegate: false)
        try reactor.turn(waitingAtMost: .zero)
        #expect(recorder.events.count == 1 && reactor.figures.openSockets == 0)
        try end()
    }

    @Test("E6 A name that nobody has fails while resolving, and the text says so")
    func noSuchHost() throws {
        network.names.answer("bx.test", with: .failure(.noSuchHost), after: .milliseconds(41))
        try socket.connect(toHost: "bx.test", port: 1883)
        let report = try turnToTheEnd()
        #expect(report.error == .resolutionFailed(host: "bx.test", .noSuchHost))
        #expect(report.phase == .resolving && report.host == "bx.test")
        #expect(
            "\(report)" == """
                connect to bx.test:1883 failed while resolving after 41 ms: no such host \
                (EAI_NONAME). Is the name spelled right, and known to the name servers in use?
                """
        )
        network.names["empty.test"] = []
        try socket.connect(toHost: "empty.test", port: 1883)
        try turn { recorder.reports.count == 2 }
        #expect(recorder.reports[1].error == .resolutionFailed(host: "empty.test", .noAddress))
        try end()
    }

    @Test("RS5, L5 An answer that comes twice, or for an earlier connect, changes nothing")
    func staleAnswers() throws {
        let server = try serve(Self.four)
        network.names.answer(
            "box.test",
            with: .addresses([.ipv4(.loopback)]),
            after: .seconds(1),
            repeats: 3
        )
        try socket.connect(toHost: "box.test", port: 1883)
        try reactor.turn(waitingAtMost: .zero)
        socket.disconnect(notifyingDelegate: false)
        network.names.answer("box.test", with: .failure(.permanentFailure), after: .seconds(2))
        try socket.connect(toHost: "box.test", port: 1883)
        let report = try turnToTheEnd()
        #expect(report.error == .resolutionFailed(host: "box.test", .permanentFailure))
        network.names.answer("two.test", with: .addresses([.ipv4(.loopback)]), repeats: 2)
        try socket.connect(toHost: "two.test", port: 1883)
        try turn { recorder.events.count == 2 }
        for _ in 0..<3 { try reactor.turn(waitingAtMost: .milliseconds(10)) }
        #expect(recorder.events.last == .didConnect(Self.four) && recorder.events.count == 2)
        try end()
        withExtendedLifetime(server) {}
    }

    @Test("L4 Inside the farewell of a failed lookup the socket may look up anew")
    func again() throws {
        let server = try serve(Self.four)
        network.names["box.test"] = [.ipv4(.loopback)]
        let stubborn = Stubborn()
        socket.delegate = stubborn
        try socket.connect(toHost: "bx.test", port: 1883)
        try turn { stubborn.address != nil }
        #expect(stubborn.errors == [.resolutionFailed(host: "bx.test", .noSuchHost)])
        #expect(stubborn.address == Self.four && socket.requestedHost == "box.test")
        socket.disconnect(notifyingDelegate: false)
        try end()
        withExtendedLifetime(server) {}
    }

    @Test("L4 A lookup that begins inside a farewell names nobody of the connection before")
    func nobodyYet() throws {
        let server = try serve(Self.four)
        let stubborn = Stubborn()
        socket.delegate = stubborn
        try socket.connect(to: Self.four)
        try turn { stubborn.address != nil }
        socket.disconnect()
        try turn { !stubborn.errors.isEmpty }
        #expect(socket.state == .connecting && socket.remoteAddress == nil)
        socket.disconnect(notifyingDelegate: false)
        try end()
        withExtendedLifetime(server) {}
    }
}

/// Tries another name when one has failed, from inside the farewell.
private final class Stubborn: StreamSocketDelegate {
    var errors: [SocketError?] = []
    var address: SocketAddress?

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) {
        self.address = address
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        #expect(socket.state == .idle)
        errors.append(report.error)
        do {
            try socket.connect(toHost: "box.test", port: 1883)
        } catch {
            Issue.record("refused inside the farewell: \(error)")
        }
    }
}
