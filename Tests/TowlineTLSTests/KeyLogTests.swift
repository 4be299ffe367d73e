import Glibc
import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

@Suite("Secrets that are written down") struct KeyLogTests {
    private final class Sink: KeyLogSink {
        private let state = Locked<[String]>([])
        var lines: [String] { state.withLock { $0 } }
        func write(_ line: String) { state.withLock { $0.append(line) } }
    }

    @Test(
        "Both ends write the same secrets, each once, and say so once",
        arguments: TLSVersion.allCases
    )
    func sinks(version: TLSVersion) throws {
        let (ours, theirs) = (Sink(), Sink())
        let pair = try Credentials().pair(version) { client, server in
            client.keyLog = .to(ours)
            server.keyLog = .to(theirs)
        }
        pair.run()
        #expect(pair.client.isSecured && pair.server.isSecured)
        #expect(Set(ours.lines) == Set(theirs.lines))
        #expect(Set(ours.lines).count == ours.lines.count)
        let labels = Set(ours.lines.compactMap { $0.split(separator: " ").first.map(String.init) })
        let expected: Set =
            version == .tls12
            ? ["CLIENT_RANDOM"]
            : [
                "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET",
                "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0", "EXPORTER_SECRET",
            ]
        #expect(labels == expected)
        #expect(pair.client.notes.count { $0.contains("secrets of connections") } == 1)
    }

    @Test("Without a key log nothing is written, also where the environment names a file")
    func environment() async {
        await #expect(processExitsWith: .success) {
            let file = "/tmp/towline-keys-\(getpid())"
            defer { unlink(file) }
            setenv("SSLKEYLOGFILE", file, 1)
            let credentials = try Credentials()
            try credentials.pair().run()
            guard access(file, F_OK) != 0 else { exit(3) }
            for _ in 0..<2 {
                try credentials.pair { client, _ in client.keyLog = .environment }.run()
            }
            let text = String(decoding: try FileContents.read(file), as: UTF8.self)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            guard lines.count == 11, lines.last == "" else { exit(4) }
            guard lines.dropLast().allSatisfy({ $0.split(separator: " ").count == 3 }) else {
                exit(5)
            }
            var facts = stat()
            guard stat(file, &facts) == 0, facts.st_mode & 0o777 == 0o600 else { exit(6) }
            unsetenv("SSLKEYLOGFILE")
            let silent = try credentials.pair { client, _ in client.keyLog = .environment }
            silent.run()
            guard silent.client.isSecured else { exit(7) }
        }
    }
}
