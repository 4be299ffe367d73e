import Glibc
import TestSupport
import Testing
import Towline

@Suite("At the descriptor limit") struct DescriptorLimitTests {
    @Test("LS3, A7, trap 5, Scenario 7: below 5 % CPU, clients served, accepting resumes by itself")
    func limit() throws {
        let begin = ContinuousClock.now
        let server = try ChildProcess(
            "/usr/bin/prlimit",
            ["--nofile=64:64", try BuiltProduct.path(of: "echo-server")]
        )
        defer { server.send(signal: SIGKILL) }
        let line = try #require(try server.readLine())
        let address = try #require(SocketAddress(String(line.dropFirst("listening on ".count))))
        var peers = try (0..<200).map { _ in try BlockingPeer(connectingTo: address) }
        for peer in peers { try peer.send("?") }
        // The first ones fill the limit, and are served.
        for peer in peers.prefix(40) { #expect(try peer.receive(1) == Array("?".utf8)) }

        let before = cpuTime(of: server.id)
        let start = ContinuousClock.now
        for _ in 0..<20 { #expect(try peers[0].exchange()) }
        _ = holds(within: .milliseconds(1_500)) { false }
        let share = (cpuTime(of: server.id) - before) / (ContinuousClock.now - start)
        #expect(share < 0.05, "the server used \(Int(share * 100)) % of a core")

        // As descriptors come free, everybody else has a turn.
        while !peers.isEmpty {
            let served = peers.prefix(40)
            for peer in served { #expect(try peer.exchange()) }
            for peer in served { peer.close() }
            peers.removeFirst(served.count)
        }
        server.send(signal: SIGTERM)
        let exit = try server.waitForExit()
        #expect(exit?.code == 0)
        let notices = (exit?.standardError ?? "").split(separator: "\n")
        let text =
            "echo-server: accept on \(address) paused: too many open files (EMFILE), "
            + "64 of 64 in use; retry in 100 ms"
        #expect(notices.first.map(String.init) == text)
        // One a second, from the first connection to the last.
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        #expect(notices.count <= Int(seconds) + 2, "\(notices.count) in \(seconds) s")
    }

    /// What a process has used of its cores, by its own clock.
    ///
    /// Source: clock_getcpuclockid(3).
    private func cpuTime(of process: pid_t) -> Duration {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            return .zero
        }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

extension BlockingPeer {
    /// Sends a byte, and receives until its echo: one more than what came before.
    fileprivate func exchange() throws -> Bool {
        try send("!")
        while true {
            let bytes = try receiveSome()
            if bytes.isEmpty { return false }
            if bytes.last == UInt8(ascii: "!") { return true }
        }
    }
}
