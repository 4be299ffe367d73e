import Glibc
import TestSupport
import Testing
import Towline
import TowlineTLS

@Suite("TLS with curl", .timeLimit(.minutes(10))) struct TLSCurlTests {
    private func curl(_ host: TLSHost, _ words: [String]) throws -> ChildProcess.Exit {
        let roots = try TestCertificates.made().path("trust/roots.pem")
        let common = ["--silent", "--show-error", "--noproxy", "*", "--cacert", roots]
        return try host.turn(untilTheEndOf: ChildProcess("curl", common + words))
    }

    @Test("TE1 curl --resolve and --connect-to get their page, and a farewell")
    func page() throws {
        let host = try TLSHost.http(TestTLS.server()) { "for \($0.tlsInfo?.sentServerName ?? "")" }
        let port = host.port
        let resolved = try curl(
            host,
            ["--resolve", "good.test:\(port):127.0.0.1", "https://good.test:\(port)/"]
        )
        #expect(resolved.code == 0 && resolved.standardOutput == "for good.test", "\(resolved)")
        let connected = try curl(
            host,
            ["--connect-to", "good.test:443:127.0.0.1:\(port)", "https://good.test/"]
        )
        #expect(connected.code == 0 && connected.standardOutput == "for good.test")
        let byAddress = try curl(host, ["https://127.0.0.1:\(port)/"])
        #expect(byAddress.code == 0 && byAddress.standardOutput == "for ")
        try host.loop.end()
    }

    @Test("TV1 curl refuses a name that is not ours, and an issuer that it does not know")
    func refusals() throws {
        let host = try TLSHost.http(TestTLS.server())
        let name = ["--connect-to", "b.test:443:127.0.0.1:\(host.port)", "https://b.test/"]
        #expect(try curl(host, name).code == 60)
        let other = try TestCertificates.made().path("trust/other-roots.pem")
        let issuer = ["--cacert", other, "https://127.0.0.1:\(host.port)/"]
        #expect(try curl(host, issuer).code == 60)
        #expect(try host.loop.turn { host.reports.count == 2 })
        // It says nothing of the name, which it looks at behind the handshake.
        #expect(host.reports[1].error?.tls == .alert(.unknownCA, from: .peer))
        #expect(host.reports[1].phase == .securing)
        try host.loop.end()
    }

    @Test(
        "TI5, TS4, Wish 14: curl shows an identity of PKCS#12, or none",
        arguments: ["1.2", "1.3"]
    )
    func clientIdentity(version: String) throws {
        var tls = try TestTLS.server()
        tls.clientAuthentication = .required
        tls.trust = try TestTLS.client().trust
        let host = try TLSHost.http(tls) { socket in
            "\(socket.tlsInfo?.peerChain.first?.subject ?? "nobody")"
        }
        let url = ["--tls-max", version, "https://127.0.0.1:\(host.port)/"]
        let file = try TestCertificates.made().path("client/alice.p12")
        let identity = ["--cert-type", "P12", "--cert", "\(file):\(TestCertificates.password)"]
        let known = try curl(host, identity + url)
        #expect(known.code == 0 && known.standardOutput.contains("alice"), "\(known)")
        let unknown = try curl(host, url)
        #expect(unknown.code != 0)
        #expect(try host.loop.turn { host.reports.count == 2 })
        guard case .untrusted(let failure) = host.reports[1].error?.tls else {
            Issue.record("\(host.reports[1])")
            return
        }
        #expect(failure.reason == .noCertificate)
        try host.loop.end()
    }

    @Test("TV3, Wish 15: a pin as curl reads it is ours")
    func pins() throws {
        let host = try TLSHost.http(TestTLS.server())
        let chain = try Certificate.certificates(
            pem: TestCertificates.made().bytes("server/good-chain.pem")
        )
        let url = "https://127.0.0.1:\(host.port)/"
        let right = ["--pinnedpubkey", "sha256//\(chain[0].publicKeyPin)", url]
        #expect(try curl(host, right).standardOutput == "hello")
        let wrong = ["--pinnedpubkey", "sha256//\(chain[1].publicKeyPin)", url]
        #expect(try curl(host, wrong).code == 90)
        try host.loop.end()
    }

    @Test("Scenario 12: curl --tls-max 1.2 is served, or refused where that is too old")
    func oldVersion() throws {
        let words = ["--tls-max", "1.2"]
        let host = try TLSHost.http(TestTLS.server()) { "\($0.tlsInfo?.version as Any)" }
        let exit = try curl(host, words + ["https://127.0.0.1:\(host.port)/"])
        #expect(exit.standardOutput.contains("1.2"), "\(exit)")
        try host.loop.end()
        var tls = try TestTLS.server()
        tls.minimumVersion = .tls13
        let strict = try TLSHost.http(tls)
        #expect(try curl(strict, words + ["https://127.0.0.1:\(strict.port)/"]).code == 35)
        #expect(try strict.loop.turn { strict.reports.count == 1 })
        #expect(strict.reports[0].error?.tls == .noAgreement(.version([.tls13])))
        try strict.loop.end()
    }

    @Test("TS5 A listener's settings are replaced between two connections; those that run go on")
    func reload() throws {
        let host = try TLSHost(nil) { socket, recorder in
            recorder.whenRead = { socket, bytes, _ in
                try socket.write(bytes)
                try socket.read(to: .lf)
            }
            try socket.read(to: .lf)
        }
        try host.replace(TestTLS.server("sni-a"))
        var tls = try TestTLS.client()
        tls.serverName = .name("a.multi.test")
        let line = try TLSLine(to: host.port, tls, on: host.loop)
        try line.socket.write("one\n")
        #expect(try line.readLine(tag: 1) == "one\n")
        try host.replace(TestTLS.server("sni-b"))
        var broken = try TestTLS.server()
        broken.cipherSuites = ["no such suite"]
        #expect(throws: SocketError.self) { try host.replace(broken) }
        let url = "https://b.multi.test:\(host.port)/"
        let exit = try curl(
            host,
            ["--http0.9", "--resolve", "b.multi.test:\(host.port):127.0.0.1", url, "-m", "1"]
        )
        #expect(exit.standardOutput.hasPrefix("GET / HTTP"), "\(exit)")
        try line.socket.write("two\n")
        #expect(try line.readLine(tag: 2) == "two\n")
        try host.loop.end()
    }
}

/// nginx with two names at one address, the second of which wants to know its clients.
private final class WebServer {
    private let process: ChildProcess
    let port: UInt16
    private let configuration: ScratchFile

    init() throws {
        let certificates = try TestCertificates.made()
        // It is given its listening socket, so that the port is of the kernel's choice.
        let listener = try BlockingListener()
        let port = try #require(listener.address.port)
        self.port = port
        let folder = certificates.folder
        func server(_ name: String, _ files: String, _ more: String) -> String {
            """
            server {
                listen 127.0.0.1:\(port) ssl;
                server_name \(name);
                ssl_certificate \(folder)/server/\(files)-chain.pem;
                ssl_certificate_key \(folder)/server/\(files).key;
                \(more)
            }

            """
        }
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(folder)/nginx-\($0);"
        }
        let text =
            """
            daemon off; worker_processes 1; error_log stderr; pid \(folder)/nginx-\(port).pid;
            events { worker_connections 64; }
            http {
                access_log off; ssl_protocols TLSv1.2 TLSv1.3; \(places.joined(separator: " "))

            """
            + server("a.multi.test", "sni-a", "location / { return 200 \"this is a\\n\"; }")
            + server(
                "b.multi.test",
                "sni-b",
                """
                ssl_client_certificate \(folder)/trust/roots.pem; ssl_verify_depth 3;
                ssl_verify_client on; location / { return 200 "for $ssl_client_s_dn\\n"; }
                """
            ) + "}\n"
        configuration = try ScratchFile(Array(text.utf8))
        let descriptor = listener.take()
        defer { close(descriptor) }
        process = try ChildProcess(
            "env",
            ["NGINX=3;", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "nginx", "-c", configuration.path],
            inherited: descriptor
        )
    }

    deinit {
        // Its workers end with it, when it is asked to.
        process.send(signal: SIGTERM)
        _ = try? process.waitForExit(within: .seconds(5))
    }
}

@Suite("TLS with nginx", .timeLimit(.minutes(10))) struct TLSWebServerTests {
    private func client(_ name: String, identity: String? = nil) throws -> TLSConfiguration {
        var tls = try TestTLS.client()
        tls.serverName = .name(name)
        tls.identity = try identity.map { try TestTLS.identity($0) }
        return tls
    }

    private func get(
        _ server: WebServer,
        _ tls: TLSConfiguration,
        of host: String = "a.multi.test"
    ) throws -> (line: TLSLine, report: DisconnectReport) {
        let line = try TLSLine(to: server.port, tls)
        try line.socket.write("GET / HTTP/1.0\r\nHost: \(host)\r\n\r\n", tag: 1)
        try line.socket.readToEnd(maxLength: 100_000, tag: 2)
        return (line, try line.turnToTheReport())
    }

    @Test(
        "Scenario 9, Wish 13: the name decides host and check, the address only whom to call"
    )
    func names() throws {
        let server = try WebServer()
        let (line, report) = try get(server, client("a.multi.test"))
        let text = String(decoding: line.recorder.readBytes, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 200 OK") && text.hasSuffix("this is a\n"), "\(report)")
        // It ends without a farewell, or with one; never in the middle.
        let isCut = report.error?.tls == .truncated(bytes: text.utf8.count)
        #expect(report.error == .closedByPeer || isCut, "\(report)")
        try line.loop.end()
        let (other, refusal) = try get(server, client("c.multi.test"))
        #expect(
            "\(refusal)" == """
                TLS with 127.0.0.1:\(server.port) failed while securing: certificate is for \
                a.multi.test, not c.multi.test
                """
        )
        #expect(refusal.incompleteWrites.map(\.bytesWritten) == [0], "no byte of the request")
        try other.loop.end()
    }

    @Test("TI5, TN6: one name demands an identity, whatever the request calls its host")
    func clientIdentity() throws {
        let server = try WebServer()
        // Whom the request calls is between it and nginx.
        let (line, _) = try get(server, client("b.multi.test", identity: "client/alice"))
        let text = String(decoding: line.recorder.readBytes, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 "), "\(text)")
        #expect(line.recorder.heard.contains(.didSecure))
        try line.loop.end()
        let alice = try client("b.multi.test", identity: "client/alice")
        let (known, _) = try get(server, alice, of: "b.multi.test")
        let page = String(decoding: known.recorder.readBytes, as: UTF8.self)
        #expect(page.contains("CN=alice"), "\(page)")
        try known.loop.end()
        let (unknown, report) = try get(server, client("b.multi.test"), of: "b.multi.test")
        let refused = String(decoding: unknown.recorder.readBytes, as: UTF8.self)
        #expect(refused.hasPrefix("HTTP/1.1 4"), "\(refused), \(report)")
        try unknown.loop.end()
    }

    @Test("TR1 Sessions of nginx go on under their name, and under no other")
    func resumption() throws {
        let server = try WebServer()
        let loop = try Loop()
        let cache = SessionCache()
        for (round, name) in ["a.multi.test", "a.multi.test", "b.multi.test"].enumerated() {
            var tls = try client(name, identity: name.hasPrefix("b") ? "client/alice" : nil)
            tls.resumption = .cache(cache)
            let line = try TLSLine(to: server.port, tls, on: loop)
            try line.socket.write("GET / HTTP/1.0\r\nHost: \(name)\r\n\r\n")
            try line.socket.read(to: .lf, tag: 1)
            try line.secure()
            // A changed configuration has no session of another one's.
            #expect(line.socket.tlsInfo?.isResumed == false, "\(round)")
            let recorder = line.recorder
            #expect(try loop.turn { !recorder.readBytes.isEmpty })
            line.socket.disconnect()
            _ = try line.turnToTheReport()
        }
        let tls = try client("a.multi.test")
        for round in 0..<3 {
            let line = try TLSLine(to: server.port, tls, on: loop)
            try line.socket.write("GET / HTTP/1.0\r\nHost: a.multi.test\r\n\r\n")
            try line.socket.read(to: .lf, tag: 1)
            let recorder = line.recorder
            #expect(try loop.turn { !recorder.readBytes.isEmpty })
            #expect(line.socket.tlsInfo?.isResumed == (round > 0))
            line.socket.disconnect()
            _ = try line.turnToTheReport()
        }
        try loop.end()
    }
}
