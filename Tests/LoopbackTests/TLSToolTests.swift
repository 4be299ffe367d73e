import TestSupport
import Testing
import Towline
import TowlineTLS

/// The command line tool of OpenSSL as a server, at a port of the kernel's choice.
struct ToolServer {
    let process: ChildProcess
    let port: UInt16

    /// - Parameters:
    ///   - options: What it is told besides its address and its certificate.
    ///   - name: The certificate.
    /// - Throws: If it does not start.
    init(_ options: [String] = [], certificate name: String = "good") throws {
        let certificates = try TestCertificates.made()
        let words = [
            "s_server", "-accept", "127.0.0.1:0",
            "-cert", certificates.path("server/\(name).pem"),
            "-key", certificates.path("server/\(name).key"),
            "-cert_chain", certificates.path("ca/int.pem"),
        ]
        process = try ChildProcess("openssl", words + options, hasInput: true)
        let port = try process.readLine(beginningWith: "ACCEPT 127.0.0.1:")
        self.port = try #require(port.flatMap { UInt16($0) }, "\(process.written)")
    }
}

extension TLSLine {
    /// Connects to such a server.
    init(to server: ToolServer, _ tls: TLSConfiguration, on loop: Loop? = nil) throws {
        try self.init(to: server.port, tls, on: loop, process: server.process)
    }
}

@Suite("TLS with the servers of a tool", .timeLimit(.minutes(10))) struct TLSToolServerTests {
    private static let request = "GET / HTTP/1.0\r\n\r\n"

    @Test(
        "TE2, K1, Wish 16: a page of s_server -www, up to its farewell",
        arguments: TLSVersion.allCases
    )
    func page(version: TLSVersion) throws {
        let server = try ToolServer(["-www"] + (version == .tls12 ? ["-tls1_2"] : []))
        let line = try TLSLine(to: server, TestTLS.client())
        try line.socket.write(Self.request)
        try line.socket.readToEnd(maxLength: 100_000, tag: 1)
        try line.secure()
        #expect(line.socket.tlsInfo?.version == version)
        let report = try line.turnToTheReport()
        #expect(report.error == .closedByPeer, "\(report)")
        let text = String(decoding: line.recorder.readBytes, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.0 200 ok"))
        try line.loop.end()
    }

    @Test("TW1 s_server -rev gives each line back in reverse")
    func reversed() throws {
        let server = try ToolServer(["-rev"])
        let line = try TLSLine(to: server, TestTLS.client())
        for round in 0..<20 {
            try line.socket.write("line \(round)\n")
            #expect(try line.readLine(tag: round) == String("line \(round)".reversed()) + "\n")
        }
        try line.loop.end()
    }

    @Test(
        "TR1, TR3: a session goes on where the server lets it",
        arguments: [
            ([], true), (["-no_ticket"], true), (["-num_tickets", "0"], false),
            (["-tls1_2"], true), (["-tls1_2", "-no_ticket"], true),
        ] as [([String], Bool)]
    )
    func resumption(options: [String], isResumed: Bool) throws {
        let server = try ToolServer(["-rev"] + options)
        let tls = try TestTLS.client()
        let loop = try Loop()
        for round in 0..<3 {
            let line = try TLSLine(to: server, tls, on: loop)
            try line.socket.write("abc\n")
            #expect(try line.readLine(tag: 1) == "cba\n")
            #expect(line.socket.tlsInfo?.isResumed == (isResumed && round > 0))
            line.socket.disconnect()
            _ = try line.turnToTheReport()
        }
        try loop.end()
    }

    @Test("TI5, TS4: s_server -Verify wants to know who we are", arguments: TLSVersion.allCases)
    func clientCertificate(version: TLSVersion) throws {
        let roots = try TestCertificates.made().path("trust/roots.pem")
        let server = try ToolServer(
            ["-rev", "-Verify", "3", "-CAfile", roots, "-verify_return_error"]
                + (version == .tls12 ? ["-tls1_2"] : [])
        )
        var tls = try TestTLS.client()
        let unknown = try TLSLine(to: server, tls)
        try unknown.socket.read()
        let report = try unknown.turnToTheReport()
        let alert = version == .tls13 ? TLSAlert.certificateRequired : .handshakeFailure
        #expect(report.error?.tls == .alert(alert, from: .peer), "\(report)")
        #expect(report.phase == .securing)
        try unknown.loop.end()
        tls.identity = try TestTLS.identity("client/alice")
        let line = try TLSLine(to: server, tls)
        try line.socket.write("abc\n")
        #expect(try line.readLine(tag: 1) == "cba\n")
        try line.loop.end()
    }

    @Test(
        "TV4 What s_server -status_file staples decides",
        arguments: TLSVersion.allCases,
        ["good", "wrong-cert", nil] as [String?]
    )
    func staple(version: TLSVersion, name: String?) throws {
        let file = try name.map { try TestCertificates.made().path("ocsp/\($0).der") }
        let server = try ToolServer(
            ["-rev"] + (version == .tls12 ? ["-tls1_2"] : [])
                + (file.map { ["-status_file", $0] } ?? []),
            certificate: "must-staple"
        )
        var tls = try TestTLS.client()
        tls.serverName = .name("staple.test")
        tls.trust.revocation = .staple(.ifDemandedByCertificate)
        let line = try TLSLine(to: server, tls)
        if name == "good" {
            try line.secure()
        } else {
            let report = try line.turnToTheReport()
            guard case .untrusted(let failure) = report.error?.tls,
                case .revocationUnavailable = failure.reason
            else {
                Issue.record("\(report)")
                return
            }
        }
        try line.loop.end()
    }

    @Test("TS3 s_server -alpn picks a protocol, or ends it")
    func applicationProtocol() throws {
        let server = try ToolServer(["-rev", "-alpn", "h2,http/1.1"])
        var tls = try TestTLS.client()
        tls.applicationProtocols = ["imap", "http/1.1"]
        let line = try TLSLine(to: server, tls)
        try line.secure()
        #expect(line.socket.tlsInfo?.applicationProtocol == "http/1.1")
        try line.loop.end()
        tls.applicationProtocols = ["imap"]
        let refused = try TLSLine(to: server, tls)
        #expect(try refused.turnToTheReport().error?.tls == .noAgreement(.applicationProtocol))
        try refused.loop.end()
    }

    @Test("TN5 s_server -servername has another certificate for another name")
    func names() throws {
        let certificates = try TestCertificates.made()
        let server = try ToolServer(
            [
                "-rev", "-servername", "b.multi.test",
                "-cert2", certificates.path("server/sni-b.pem"),
                "-key2", certificates.path("server/sni-b.key"),
            ],
            certificate: "sni-a"
        )
        let roots = try Certificate.certificates(pem: certificates.bytes("trust/roots.pem"))
        let int = try Certificate.certificates(pem: certificates.bytes("ca/int.pem"))
        for (sent, wanted, isRight) in [
            ("a.multi.test", "a.multi.test", true), ("b.multi.test", "b.multi.test", true),
            ("b.multi.test", "a.multi.test", false), ("a.multi.test", "b.multi.test", false),
        ] {
            var tls = TLSConfiguration.client
            // The second one is sent without its issuer.
            tls.trust = .anchors(roots + int)
            tls.serverName = .name(wanted)
            tls.sentServerName = .other(sent)
            let line = try TLSLine(to: server, tls)
            if isRight {
                try line.secure()
            } else {
                let report = try line.turnToTheReport()
                guard case .untrusted(let failure) = report.error?.tls else {
                    Issue.record("\(report)")
                    continue
                }
                #expect(failure.reason == .nameMismatch)
            }
            try line.loop.end()
        }
    }

    @Test("TH6 New keys that s_server asks for, or tells of, and ours, come among the data")
    func newKeys() throws {
        let server = try ToolServer()
        let line = try TLSLine(to: server, TestTLS.client())
        try line.secure()
        for round in 0..<6 {
            try server.process.send(round % 2 == 0 ? "K\n" : "k\n")
            try line.socket.rekey()
            try line.socket.write("from us \(round)\n")
            let text = "from us \(round)\n"
            #expect(try line.turn { (try? server.process.hasWritten(text)) == true })
            try server.process.send("from it \(round)\n")
            #expect(try line.readLine(tag: round) == "from it \(round)\n")
        }
        #expect(line.recorder.heard.filter { $0 == .didSecure }.count == 1)
        // It ends without a farewell.
        try server.process.send("Q\n")
        let report = try line.turnToTheReport()
        #expect(report.error?.tls == .truncated(bytes: line.recorder.readBytes.count))
        try line.loop.end()
    }

    @Test("Scenario 12, TH5: what s_server speaks is too old, or encrypted in no way that we know")
    func nothingInCommon() throws {
        let old = try ToolServer(["-rev", "-tls1_2"])
        var tls = try TestTLS.client()
        tls.minimumVersion = .tls13
        let line = try TLSLine(to: old, tls)
        let report = try line.turnToTheReport()
        #expect(report.error?.tls == .noAgreement(.version([.tls13])), "\(report)")
        try line.loop.end()
        let other = try ToolServer(
            ["-rev", "-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"]
        )
        tls.cipherSuites = ["TLS_AES_128_GCM_SHA256"]
        let second = try TLSLine(to: other, tls)
        let refusal = try second.turnToTheReport()
        #expect(refusal.error?.tls == .alert(.handshakeFailure, from: .peer), "\(refusal)")
        try second.loop.end()
    }
}

@Suite("TLS with the clients of a tool", .timeLimit(.minutes(10))) struct TLSToolClientTests {
    /// A server of ours that gives each line back.
    private func lines(_ tls: TLSConfiguration) throws -> TLSHost {
        try TLSHost(tls) { socket, recorder in
            recorder.whenRead = { socket, bytes, _ in
                try socket.write(bytes)
                try socket.read(to: .lf)
            }
            try socket.read(to: .lf)
        }
    }

    private func client(of host: TLSHost, _ options: [String]) throws -> ChildProcess {
        let roots = try TestCertificates.made().path("trust/roots.pem")
        return try ChildProcess(
            "openssl",
            ["s_client", "-connect", "127.0.0.1:\(host.port)", "-CAfile", roots] + options,
            hasInput: true
        )
    }

    /// Turns until the program has written a text.
    private func turn(_ host: TLSHost, until process: ChildProcess, wrote text: String) throws {
        let isThere = try host.loop.turn { (try? process.hasWritten(text)) != false }
        #expect(isThere, "\(text) is not in \(process.written)")
    }

    @Test("TV1 s_client verifies chain and name, talks, and says farewell")
    func verifying() throws {
        let host = try lines(TestTLS.server())
        let process = try client(
            of: host,
            ["-verify_return_error", "-verify_hostname", "good.test", "-servername", "good.test"]
        )
        try process.send("hello there\n")
        try turn(host, until: process, wrote: "hello there\n")
        try turn(host, until: process, wrote: "Verify return code: 0 (ok)")
        try process.send("Q\n")
        #expect(try host.turn(untilTheEndOf: process).code == 0)
        #expect(try host.loop.turn { !host.reports.isEmpty })
        #expect(host.reports[0].error == .closedByPeer, "\(host.reports[0])")
        let wrong = try client(of: host, ["-verify_return_error", "-verify_hostname", "b.test"])
        #expect(try host.turn(untilTheEndOf: wrong).code != 0)
        #expect(try host.loop.turn { host.reports.count == 2 })
        #expect(host.reports[1].error?.tls == .alert(.badCertificate, from: .peer))
        #expect(host.reports[1].phase == .securing)
        try host.loop.end()
    }

    @Test("TR6 s_client -reconnect goes on with its session, five times")
    func reconnecting() throws {
        let host = try lines(TestTLS.server())
        let process = try client(of: host, ["-tls1_2", "-reconnect"])
        #expect(try host.loop.turn { host.acceptor.sockets.count == 6 })
        try process.send("still here\n")
        try turn(host, until: process, wrote: "still here\n")
        let resumed = process.written.components(of: "Reused, TLSv1.2")
        #expect(resumed == 5, "\(process.written)")
        #expect(host.acceptor.sockets[5].tlsInfo?.isResumed == true)
        try host.loop.end()
    }

    @Test("TR4, nginx#493: a session of one name is worth nothing at one that wants to know more")
    func sessionsOfNames() throws {
        var first = try TestTLS.server("sni-a")
        var second = try TestTLS.server("sni-b")
        second.clientAuthentication = .required
        second.trust = try TestTLS.client().trust
        first.chooser = NamedIdentities(["b.multi.test": .configuration(second)])
        let host = try lines(first)
        let file = try ScratchFile()
        let one = try client(of: host, ["-servername", "a.multi.test", "-sess_out", file.path])
        try one.send("x\n")
        try turn(host, until: one, wrote: "\nx\n")
        try one.send("Q\n")
        _ = try host.turn(untilTheEndOf: one)
        let again = try client(of: host, ["-servername", "a.multi.test", "-sess_in", file.path])
        try again.send("y\n")
        try turn(host, until: again, wrote: "Reused, TLSv1.3")
        try again.send("Q\n")
        _ = try host.turn(untilTheEndOf: again)
        let other = try client(of: host, ["-servername", "b.multi.test", "-sess_in", file.path])
        try turn(host, until: other, wrote: "New, TLSv1.3")
        #expect(try host.loop.turn { host.reports.count == 3 })
        let report = try #require(host.acceptor.recorders[2].reports.first)
        guard case .untrusted(let failure) = report.error?.tls else {
            Issue.record("\(report)")
            return
        }
        #expect(failure.reason == .noCertificate)
        try host.loop.end()
    }

    @Test(
        "TU1, S1, S4: s_client -starttls, each protocol in its way",
        arguments: ["smtp", "imap", "postgres"]
    )
    func upgrade(name: String) throws {
        let tls = try TestTLS.server()
        let host = try TLSHost(nil) { socket, recorder in
            try Upgrade(name, tls, recorder).begin(socket)
        }
        let process = try client(
            of: host,
            ["-starttls", name, "-verify_return_error", "-verify_hostname", "good.test"]
        )
        try process.send("protected\n")
        try turn(host, until: process, wrote: "protected\n")
        #expect(host.acceptor.recorders[0].heard.filter { $0 == .didSecure }.count == 1)
        try host.loop.end()
    }

    @Test("TH5 s_client's R, which wants to begin anew, is refused")
    func renegotiation() throws {
        let host = try lines(TestTLS.server())
        let process = try client(of: host, ["-tls1_2"])
        try process.send("first\n")
        try turn(host, until: process, wrote: "first\n")
        try process.send("R\n")
        try turn(host, until: process, wrote: "RENEGOTIATING")
        _ = try host.turn(untilTheEndOf: process)
        #expect(try host.loop.turn { !host.reports.isEmpty })
        #expect(host.acceptor.recorders[0].heard.filter { $0 == .didSecure }.count == 1)
        let error = host.reports[0].error
        if error != .closedByPeer {
            guard case .alert(_, from: .peer) = error?.tls else {
                Issue.record("\(host.reports[0])")
                return
            }
        }
        try host.loop.end()
    }
}

/// The plain part of a protocol, up to the handshake; behind it each line is given back.
private final class Upgrade {
    private let name: String
    private let tls: TLSConfiguration
    // Held by the acceptor, and holds what is told to this one.
    private unowned let recorder: Recorder

    init(_ name: String, _ tls: TLSConfiguration, _ recorder: Recorder) {
        (self.name, self.tls, self.recorder) = (name, tls, recorder)
    }

    func begin(_ socket: StreamSocket) throws {
        recorder.whenRead = { [self] socket, bytes, _ in
            try answer(String(decoding: bytes, as: UTF8.self), bytes, socket)
        }
        switch name {
        case "smtp": try socket.write("220 mail\r\n")
        case "imap": try socket.write("* OK ready\r\n")
        default: break
        }
        if name == "postgres" {
            try socket.read(toLength: 8)
        } else {
            try socket.read(to: .crlf)
        }
    }

    private func answer(_ line: String, _ bytes: [UInt8], _ socket: StreamSocket) throws {
        if recorder.heard.contains(.didSecure) {
            try socket.write(bytes)
            try socket.read(to: .lf)
        } else if name == "postgres" || line.uppercased().contains("STARTTLS") {
            try socket.write(name == "smtp" ? "220 go\r\n" : name == "imap" ? ". OK go\r\n" : "S")
            try socket.startTLS(tls)
            try socket.read(to: .lf)
        } else {
            try socket.write(
                name == "smtp"
                    ? "250-mail\r\n250 STARTTLS\r\n"
                    : "* CAPABILITY IMAP4rev1 STARTTLS\r\n. OK done\r\n"
            )
            try socket.read(to: .crlf)
        }
    }
}

extension String {
    /// How often a text occurs.
    fileprivate func components(of text: String) -> Int {
        var (count, rest) = (0, self[...])
        while let found = rest.firstRange(of: text) {
            count += 1
            rest = rest[found.upperBound...]
        }
        return count
    }
}
