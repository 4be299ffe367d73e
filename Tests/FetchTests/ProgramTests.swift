import Glibc
import TestSupport
import Testing
import Towline

@testable import fetch

/// A server of one connection after the other, each answered by the same bytes.
private final class CannedServer: Sendable {
    let port: UInt16
    private let listener: BlockingListener
    private let requests: BackgroundWork<[String]>

    init(_ answers: [String]) throws {
        let listener = try BlockingListener()
        self.listener = listener
        port = try #require(listener.address.port)
        requests = BackgroundWork {
            try answers.map { answer in
                let peer = try listener.accept()
                var head = ""
                while !head.contains("\r\n\r\n") {
                    head += String(decoding: try peer.receiveSome(), as: UTF8.self)
                }
                try peer.send(answer)
                return head
            }
        }
    }

    /// What was asked; waits until all answers are given.
    func heard() throws -> [String] { try requests.value() }

    var url: String { "http://127.0.0.1:\(port)/" }
}

private func answer(_ body: String, status: String = "200 OK", fields: String = "") -> String {
    "HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
        + body
}

private func run(_ arguments: [String]) throws -> ChildProcess.Exit {
    let program = try BuiltProduct.path(of: "fetch")
    return try #require(try ChildProcess.run(program, ["-q"] + arguments))
}

@Suite("fetch, the program") struct ProgramTests {
    @Test("What a URL has goes to standard output, and the exit code is 0") func plain() throws {
        let server = try CannedServer([answer("hello")])
        let exit = try run([server.url + "a?b", "-H", "X-One: 1", "-A", "me"])
        #expect(exit.standardOutput == "hello")
        #expect(exit.standardError == "")
        #expect(exit.code == 0)
        let heard = try server.heard()
        #expect(heard[0].hasPrefix("GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"))
        #expect(heard[0].contains("\r\nUser-Agent: me\r\nAccept: */*\r\nX-One: 1\r\n\r\n"))
    }

    @Test("A bar says how far a transfer is, where one is asked for") func progress() throws {
        var bar = ProgressBar()
        #expect(bar.text == "0 bytes")
        bar.begin(at: 250, of: 750)
        #expect(bar.text.hasSuffix(" 25.0%") && bar.text.prefix { $0 == "#" }.count == 15)
        bar.begin(at: 7, of: nil)
        #expect(bar.text == "7 bytes")
        let server = try CannedServer([answer("hello")])
        let exit = try run(["-#", server.url])
        #expect(exit.standardOutput == "hello" && exit.standardError.hasSuffix("# 100.0%\n"))
        #expect(try run(["--no-clobber", "x"]).standardError.contains("option --no-clobber"))
    }

    @Test("A password of a URL is not shown, also where the URL is none") func secrets() throws {
        let exit = try run(["http://user:sesame@127.0.0.1:99999/"])
        #expect(exit.code == 3 && exit.standardError.contains("http://user:***@127.0.0.1:99999/"))
        let proxy = try run(["-x", "https://me:sesame@127.0.0.1:1", "http://a.test/"])
        #expect(proxy.code == 5 && !proxy.standardError.contains("sesame"))
    }

    @Test("A failure is one line, and its number the exit code") func refused() throws {
        let listener = try BlockingListener()
        let port = try #require(listener.address.port)
        listener.close()
        let exit = try run(["http://127.0.0.1:\(port)/"])
        #expect(exit.code == 7)
        #expect(exit.standardOutput == "")
        #expect(exit.standardError.hasPrefix("fetch: (7) no connection to 127.0.0.1: 127.0.0.1:"))
        #expect(exit.standardError.filter { $0 == "\n" }.count == 1)
        #expect(try run(["-s", "http://127.0.0.1:\(port)/"]).standardError == "")
    }

    @Test("A status that counts as a failure ends with 22, and shows no body") func failing() throws
    {
        let server = try CannedServer([answer("sorry", status: "404 Not Found")])
        let exit = try run(["-f", server.url])
        #expect(exit.code == 22)
        #expect(exit.standardOutput == "")
        #expect(exit.standardError == "fetch: (22) The requested URL returned error: 404\n")
    }

    @Test("A full disk ends with 23, however large the rest is") func fullDisk() throws {
        let server = try CannedServer([answer(String(repeating: "x", count: 200_000))])
        let exit = try run(["-o", "/dev/full", server.url])
        #expect(exit.code == 23)
        #expect(exit.standardError.contains("No space left on device"))
    }

    @Test("A closed standard output ends with 23") func closedOutput() throws {
        let server = try CannedServer([answer("hello")])
        let program = try BuiltProduct.path(of: "fetch")
        let line = "exec \"$0\" -q -s \"$1\" >&-"
        let exit = try ChildProcess.run("/bin/sh", ["-c", line, program, server.url])
        #expect(exit?.code == 23)
        #expect(try server.heard().count == 1)
    }

    @Test("A part of an answer ends with 18, and is shown") func cut() throws {
        let server = try CannedServer(["HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"])
        let exit = try run(["-s", server.url])
        #expect(exit.code == 18)
        #expect(exit.standardOutput == "half")
    }

    @Test("A redirect is followed where that is asked for, and told of") func redirect() throws {
        let place = "Location: /next\r\n"
        let server = try CannedServer([
            answer("", status: "302 Found", fields: place), answer("there"),
        ])
        let exit = try run(["-L", "-w", "|%{num_redirects}|%{url_effective}", server.url])
        #expect(exit.standardOutput == "there|1|\(server.url)next")
        #expect(try server.heard()[1].hasPrefix("GET /next HTTP/1.1\r\n"))
    }

    @Test("Told to end in the middle of an answer, it keeps what came and ends with 130")
    func interrupted() throws {
        let listener = try BlockingListener()
        let port = try #require(listener.address.port)
        let path = "/tmp/towline-fetch-\(getpid())-\(port)"
        defer { unlink(path) }
        let program = try ChildProcess(
            BuiltProduct.path(of: "fetch"),
            ["-q", "--events", "-o", path, "http://127.0.0.1:\(port)/"]
        )
        let peer = try listener.accept()
        try peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        let deadline = ContinuousClock.now + .seconds(30)
        while try !program.hasWritten("didLoad 4"), ContinuousClock.now < deadline {
            poll(nil, 0, 10)
        }
        program.send(signal: SIGINT)
        #expect(try program.waitForExit()?.code == 130)
        #expect(try ByteFiles().read(path) == Array("half".utf8))
    }

    @Test("A request that was typed is sent as it is, and the body named by its type")
    func typed() throws {
        let fields = "Content-Type: text/html\r\n"
        let server = try CannedServer([answer("<p>", fields: fields)])
        let folder = "/tmp/towline-fetch-\(getpid())-\(server.port)"
        mkdir(folder, 0o700)
        let (request, page) = ("\(folder)/request", "\(folder)/index.html")
        defer {
            unlink(request)
            unlink(page)
            rmdir(folder)
        }
        try OutputFile(path: request).write("GET  /x HTTP/1.0\r\nodd line\r\n\r\n")
        let exit = try run([
            "--raw-request", request, "--save-by-type", "--output-dir", folder, "-D", "-",
            server.url,
        ])
        #expect(exit.code == 0)
        #expect(exit.standardOutput.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"))
        #expect(try server.heard() == ["GET  /x HTTP/1.0\r\nodd line\r\n\r\n"])
        #expect(try ByteFiles().read(page) == Array("<p>".utf8))
    }

    @Test("Each callback is a line of its own where that is asked for") func events() throws {
        let server = try CannedServer([answer("hello")])
        let exit = try run(["--events", server.url])
        #expect(
            exit.standardError == """
                event: didConnect new
                event: didReceiveResponse 200
                event: didLoad 5
                event: didFinish

                """
        )
    }

    @Test("It says how it is used, and what it is") func help() throws {
        let exit = try run(["--help"])
        #expect(exit.code == 0)
        #expect(exit.standardOutput.contains(" -o, --output <value>\n"))
        #expect(try run(["-V"]).standardOutput.hasPrefix("fetch "))
        #expect(try run([]).code == 2)
    }
}
