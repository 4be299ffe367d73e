import Glibc
import TestSupport
import Testing
import Towline
import TowlineTLS

/// Another implementation of TLS, which breaks one of its rules on purpose.
///
/// `make setup` brings it along; without it these tests are left out.
private enum RuleBreaker {
    static var modules: String { Checkout.path(of: ".build/python") }

    static var isThere: Bool { access("\(modules)/tlslite", R_OK) == 0 }

    static func start(_ words: [String]) throws -> ChildProcess {
        let script = Checkout.path(of: "Tests/Support/rule-breaker.py")
        return try ChildProcess(
            "env",
            ["PYTHONPATH=\(modules)", "/usr/bin/python3", script] + words
        )
    }
}

@Suite(
    "TLS with who breaks its rules",
    .enabled(if: RuleBreaker.isThere, "make setup installs tlslite-ng"),
    .timeLimit(.minutes(10))
)
struct TLSRuleBreakerTests {
    /// What has to come of a broken rule: the last line of who breaks it, and what we say.
    struct Case: Sendable, CustomStringConvertible {
        let name: String
        let told: String
        let isRight: @Sendable (TLSError) -> Bool

        var description: String { name }

        init(_ name: String, _ told: String, _ isRight: @escaping @Sendable (TLSError) -> Bool) {
            (self.name, self.told, self.isRight) = (name, told, isRight)
        }
    }

    private static func isViolation(_ error: TLSError) -> Bool {
        if case .protocolViolation = error { true } else { false }
    }

    private static func isFlood(_ error: TLSError) -> Bool {
        if case .limit = error { true } else { isViolation(error) }
    }

    private static let cases = [
        Case("oversized", "alert 22", isViolation),
        Case("oversized-1.2", "alert 22", isViolation),
        Case("damage", "alert 20", isViolation),
        Case("damage-1.2", "alert 20", isViolation),
        Case("clear", "alert", isViolation),
        Case("empty-records", "", isFlood),
        Case("empty-records-1.2", "", isFlood),
        Case("second-hello", "alert 10", isViolation),
        Case("cut", "end") { $0 == .truncated(bytes: 4) },
        Case("cut-1.2", "end") { $0 == .truncated(bytes: 4) },
        Case("old-version", "alert") { $0 == .noAgreement(.version([.tls13, .tls12])) },
    ]

    /// Each line of its output.
    private func lastLine(_ exit: ChildProcess.Exit) -> String {
        exit.standardOutput.split(separator: "\n").last.map(String.init) ?? exit.standardError
    }

    @Test(
        "TE4, TS6: a client that breaks a rule is ended, told why, and hits no other",
        arguments: cases
    )
    func client(case broken: Case) throws {
        let host = try TLSHost(TestTLS.server("good-rsa")) { socket, recorder in
            recorder.readsOn = true
            try socket.read()
        }
        let process = try RuleBreaker.start(["client", "\(host.port)", broken.name])
        let exit = try host.turn(untilTheEndOf: process)
        #expect(lastLine(exit).hasPrefix(broken.told), "\(exit)")
        #expect(try host.loop.turn { !host.reports.isEmpty })
        let report = host.reports[0]
        #expect(report.error?.tls.map(broken.isRight) == true, "\(report)")
        // The next one is served.
        var tls = try TestTLS.client()
        tls.serverName = .name("rsa.test")
        let line = try TLSLine(to: host.port, tls, on: host.loop)
        try line.secure()
        try host.loop.end()
    }

    private static let serverCases = [
        Case("oversized", "alert 22", isViolation),
        Case("damage-1.2", "alert 20", isViolation),
        Case("empty-records", "", isFlood),
        Case("cut", "end") { $0 == .truncated(bytes: 4) },
        // It does not say that it is the version.
        Case("old-version", "own alert") { $0 == .alert(.handshakeFailure, from: .peer) },
    ]

    @Test("TE4 A server that breaks a rule is ended, and told why", arguments: serverCases)
    func server(case broken: Case) throws {
        let (process, line) = try connect(broken.name)
        line.recorder.readsOn = true
        try line.socket.read()
        let report = try line.turnToTheReport()
        #expect(report.error?.tls.map(broken.isRight) == true, "\(report)")
        let exit = try #require(try process.waitForExit())
        #expect(lastLine(exit).hasPrefix(broken.told), "\(exit)")
        try line.loop.end()
    }

    @Test("TH5 A server that wants to begin anew is refused, and heard still")
    func renegotiation() throws {
        let (process, line) = try connect("hello-request-1.2")
        #expect(try line.readLine(tag: 1) == "and on\n")
        #expect(line.recorder.heard.filter { $0 == .didSecure }.count == 1)
        let exit = try #require(try process.waitForExit())
        #expect(lastLine(exit) == "alert 100", "\(exit)")
        try line.loop.end()
    }

    private func connect(_ name: String) throws -> (ChildProcess, TLSLine) {
        let certificates = try TestCertificates.made()
        let process = try RuleBreaker.start(
            [
                "server", certificates.path("server/good-rsa-chain.pem"),
                certificates.path("server/good-rsa.key"), name,
            ]
        )
        let port = try #require(try process.readLine().flatMap { UInt16($0) }, "\(process.written)")
        var tls = try TestTLS.client()
        tls.serverName = .name("rsa.test")
        return (process, try TLSLine(to: port, tls, process: process))
    }
}
