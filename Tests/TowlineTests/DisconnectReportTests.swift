import Glibc
import Testing

@testable import Towline

@Suite("Disconnect report") struct DisconnectReportTests {
    private static let box = SocketAddress.ipv4(.loopback, port: 1883)

    @Test("A refused connect says whom, in which phase, after how long, why, and a hint")
    func refusedConnect() {
        let error = SocketError.system(SystemCallError(call: "connect", errno: ECONNREFUSED))
        #expect(
            report(error, .connecting, .milliseconds(3)).description == """
                connect to 127.0.0.1:1883 failed while connecting after 3 ms: connection refused \
                (ECONNREFUSED). Is the server running?
                """
        )
    }

    @Test("A path at which nobody listens has a hint of its own, and only while connecting")
    func absentPath() throws {
        let error = SocketError.system(SystemCallError(call: "connect", errno: ENOENT))
        #expect(
            report(error, .connecting, .milliseconds(3)).description == """
                connect to 127.0.0.1:1883 failed while connecting after 3 ms: no such file or \
                directory (ENOENT). No server listens at this path: is it right, and the server \
                running?
                """
        )
        #expect(report(error, .connected, .zero).description.hasSuffix("directory (ENOENT)"))
    }

    @Test("Another failure of the kernel has no such hint")
    func otherFailures() {
        let error = SocketError.system(SystemCallError(call: "connect", errno: ENETUNREACH))
        #expect(
            report(error, .connecting, .milliseconds(3)).description == """
                connect to 127.0.0.1:1883 failed while connecting after 3 ms: network is \
                unreachable (ENETUNREACH)
                """
        )
    }

    @Test("A connect that took too long, or was given up, says so")
    func unfinishedConnects() {
        #expect(
            report(.connectTimedOut, .connecting, .seconds(30)).description == """
                connect to 127.0.0.1:1883 failed while connecting after 30000 ms: connect timed \
                out
                """
        )
        #expect(
            report(nil, .connecting, .seconds(1)).description
                == "connect to 127.0.0.1:1883 was given up while connecting"
        )
    }

    @Test("The end of a connection says with whom and why, in the phase connected")
    func endedConnections() {
        #expect(
            report(.closedByPeer, .connected, .milliseconds(1_500)).description == """
                connection with 127.0.0.1:1883 closed by the peer after 1500 ms
                """
        )
        let writes = (1...2).map { IncompleteWrite(tag: $0, bytesWritten: 0, total: 1) }
        let lists = DisconnectReport.Lists(
            unreadBytes: [],
            incompleteReads: [],
            incompleteWrites: writes,
            attempts: []
        )
        #expect(
            report(.closedByPeer, .connected, .milliseconds(5), .several(lists)).description == """
                connection with 127.0.0.1:1883 closed by the peer after 5 ms, with 2 writes unsent
                """
        )
        let reset = SocketError.system(SystemCallError(call: "recv", errno: ECONNRESET))
        #expect(
            report(reset, .connected, .zero).description == """
                connection with 127.0.0.1:1883 ended while connected after less than 1 ms: \
                connection reset by peer (ECONNRESET)
                """
        )
        #expect(
            report(nil, .connected, .seconds(1)).description
                == "connection with 127.0.0.1:1883 closed after 1000 ms"
        )
    }

    @Test("A short time is not told as zero")
    func times() {
        #expect(
            report(nil, .connected, .nanoseconds(1)).description
                == "connection with 127.0.0.1:1883 closed after less than 1 ms"
        )
        #expect(report(nil, .connected, .milliseconds(1)).description.hasSuffix("after 1 ms"))
    }

    @Test("A purpose that an error brings along is told as it is")
    func purposes() {
        let error = SystemCallError(call: "connect", errno: ECONNREFUSED, purpose: "connect via lo")
        let text = report(.system(error), .connecting, .zero).description
        #expect(
            text == """
                connect to 127.0.0.1:1883 failed while connecting after less than 1 ms: connect \
                via lo failed: connection refused (ECONNREFUSED). Is the server running?
                """
        )
    }

    @Test("A report of a plain end has no lists, one of another end has what it was given")
    func details() {
        let plain = report(nil, .connected, .zero)
        #expect(plain.unreadBytes == [])
        #expect(plain.incompleteReads == [])
        #expect(plain.incompleteWrites == [])
        #expect(plain.attempts.isEmpty)
        let oneRead = report(nil, .connected, .zero, .oneRead(tag: 7))
        #expect(oneRead.incompleteReads == [7])
        #expect(oneRead.incompleteWrites == [])
        let write = IncompleteWrite(tag: 3, bytesWritten: 1, total: 2)
        let attempt = ConnectAttempt(
            address: Self.box,
            error: SystemCallError(call: "connect", errno: ECONNREFUSED)
        )
        let lists = DisconnectReport.Lists(
            unreadBytes: [1, 2],
            incompleteReads: [4, 5],
            incompleteWrites: [write],
            attempts: [attempt]
        )
        let full = report(nil, .connected, .zero, .several(lists))
        #expect(full.unreadBytes == [1, 2])
        #expect(full.incompleteReads == [4, 5])
        #expect(full.incompleteWrites == [write])
        #expect(full.attempts == [attempt])
    }

    private func report(
        _ error: SocketError?,
        _ phase: DisconnectReport.Phase,
        _ elapsed: Duration,
        _ details: DisconnectReport.Details = .none
    ) -> DisconnectReport {
        DisconnectReport(
            error: error,
            phase: phase,
            remoteAddress: Self.box,
            elapsed: elapsed,
            receivedByteCount: 0,
            sentByteCount: 0,
            details: details
        )
    }
}
