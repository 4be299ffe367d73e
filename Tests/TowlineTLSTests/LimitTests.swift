import COpenSSL
import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

@Suite("Limits, ends and faults of sessions") struct LimitTests {
    let credentials: Credentials

    init() throws {
        credentials = try Credentials()
    }

    @Test(
        "TS7 What is no TLS is refused by its first bytes, and not answered",
        arguments: Handing.allCases,
        ["GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n", "220 mail\r\n"]
    )
    func notTLS(handing: Handing, text: String) throws {
        let server = try MemoryEnd(.server(try credentials.server("good")), isAccepted: true)
        let client = try MemoryEnd(try credentials.trustingClient(), host: "good.test")
        for end in [server, client] {
            end.outbox = []
            let pieces = handing == .byteByByte ? Array(text.utf8).map { [$0] } : [Array(text.utf8)]
            for piece in pieces { end.receive(piece) }
            guard case .notTLS(let bytes) = end.failure else {
                Issue.record("\(String(describing: end.failure))")
                continue
            }
            #expect(text.utf8.starts(with: bytes) && !bytes.isEmpty)
            #expect(end.outbox.isEmpty)
        }
        #expect(server.session.handle == nil)
    }

    @Test("TS6 A server makes nothing for a client before the whole first record is there")
    func halfHello() throws {
        let pair = try credentials.pair()
        let hello = pair.client.outbox
        pair.server.receive(hello.dropLast())
        #expect(pair.server.session.handle == nil && pair.server.failure == nil)
        pair.server.receive(hello.suffix(1))
        #expect(pair.server.session.handle != nil && !pair.server.outbox.isEmpty)
    }

    @Test("TS6 A hello that never ends is refused at its limit", arguments: Handing.allCases)
    func giantHello(handing: Handing) throws {
        let server = try MemoryEnd(.server(try credentials.server("good")), isAccepted: true)
        // A message of 100,000 bytes, in records of 8 KiB.
        var record: [UInt8] = [22, 3, 1, 32, 0, 1, 1, 0x86, 0xA0, 3, 3]
        record += [UInt8](repeating: 0, count: 8192 + 5 - record.count)
        var next: [UInt8] = [22, 3, 1, 32, 0]
        next += [UInt8](repeating: 0, count: 8192)
        server.receive(record)
        let pieces = handing == .byteByByte ? 919 : next.count
        for _ in 0..<12 {
            for start in stride(from: 0, to: next.count, by: pieces) {
                server.receive(next[start...].prefix(pieces))
            }
        }
        #expect(server.failure == .limit(.messageSize))
        #expect(server.outbox == [21, 3, 3, 0, 2, 2, 47])
    }

    @Test("TS6 A flood of records without data is refused, and the peer told")
    func uselessRecords() throws {
        let pair = try credentials.pair()
        pair.run()
        for _ in 0..<3_000 { pair.client.rekey() }
        let flood = pair.client.outbox
        pair.client.outbox = []
        pair.server.receive(flood)
        #expect(pair.server.failure == .limit(.uselessRecords(byteCount: 65_536)))
        // Its alert, behind the answers that it had to make; with those the client is as strict.
        #expect(Records.split(pair.server.outbox).last?.count == 24)
        let answers = pair.server.outbox
        pair.server.outbox = []
        pair.client.receive(answers.prefix(27 * 1_000))
        #expect(pair.client.failure == nil)
        pair.client.receive(answers.dropFirst(27 * 1_000))
        #expect(pair.client.failure == .limit(.uselessRecords(byteCount: 65_536)))
    }

    @Test("TH6 New keys come among data, in both directions", arguments: Handing.allCases)
    func newKeys(handing: Handing) throws {
        let pair = try credentials.pair(.tls13, handing)
        pair.run()
        for round in 0..<20 {
            if round % 2 == 0 { pair.client.rekey() } else { pair.server.rekey() }
            pair.client.send([UInt8(round)])
            pair.server.send([UInt8(round)])
            pair.run()
        }
        #expect(pair.client.plaintext == (0..<20).map { UInt8($0) })
        #expect(pair.server.plaintext == (0..<20).map { UInt8($0) })
        #expect(pair.client.session.canUpdateKeys)
    }

    @Test(
        "TH5 A peer's request to negotiate anew is refused, in both roles, and changes nothing",
        arguments: [true, false]
    )
    func renegotiation(isAskedByClient: Bool) throws {
        let pair = try credentials.pair(.tls12)
        pair.run()
        let (peer, ours) =
            isAskedByClient ? (pair.client, pair.server) : (pair.server, pair.client)
        let handle = try #require(peer.session.handle)
        // Ours does not begin one either, unless it is made to.
        #expect(SSL_renegotiate(handle) == 0)
        SSL_clear_options(handle, towline_SSL_OP_NO_RENEGOTIATION)
        #expect(SSL_renegotiate(handle) == 1)
        let wire = peer.session.wire
        wire.pointee.lend(UnsafeRawBufferPointer(start: nil, count: 0), peer.output)
        SSL_do_handshake(handle)
        wire.pointee.endLoan()
        ERR_clear_error()
        peer.collect()
        #expect(Records.split(peer.outbox).map { $0[0] } == [22])
        ours.receive(peer.outbox)
        peer.outbox = []
        // A warning is all that comes of it.
        #expect(Records.split(ours.outbox).map { $0[0] } == [21])
        #expect(ours.failure == nil && !ours.hasEnded)
        ours.send([1, 2, 3])
        #expect(Records.split(ours.outbox).map { $0[0] } == [21, 23])
        #expect(!ours.session.canUpdateKeys)
    }

    @Test("TE4 Behind an alert that ends the connection nothing is made for the peer")
    func nothingBehindAlert() throws {
        let pair = try credentials.pair()
        pair.run()
        pair.client.receive([23, 3, 3, 0, 20] + [UInt8](repeating: 9, count: 20))
        guard case .protocolViolation = pair.client.failure else {
            Issue.record("\(String(describing: pair.client.failure))")
            return
        }
        pair.run()
        #expect(pair.server.failure == .alert(.badRecordMAC, from: .peer))
        pair.client.outbox = []
        pair.client.send([1])
        pair.client.finish()
        #expect(pair.client.outbox.isEmpty)
    }

    @Test("TE5 What comes behind a close_notify is no data")
    func behindFarewell() throws {
        let pair = try credentials.pair()
        pair.run()
        pair.client.send([1, 2])
        pair.client.finish()
        pair.client.outbox += [23, 3, 3, 0, 1, 0]
        pair.run()
        #expect(pair.server.hasEnded && pair.server.plaintext == [1, 2])
        pair.server.receiveEnd()
        #expect(pair.server.failure == nil)
        // And we may still write.
        pair.server.send([3])
        pair.run()
        #expect(pair.client.plaintext == [3])
    }

    @Test(
        "TE3 An end at any byte is interrupted, truncated or in order, never within a record",
        arguments: TLSVersion.allCases,
        [TLSConfiguration.Truncation.error, .asEnd]
    )
    func ends(version: TLSVersion, truncation: TLSConfiguration.Truncation) throws {
        let whole = try exchange(version, truncation, upTo: .max)
        let borders = Records.split(whole.bytes).reduce(into: [0]) {
            $0.append($0.last! + $1.count)
        }
        for offset in stride(from: 0, through: whole.bytes.count, by: 97) + borders {
            let (client, bytes) = try exchange(version, truncation, upTo: offset)
            client.receiveEnd()
            let isBorder =
                Records.split(bytes).last.map { record in
                    record.count >= 5 && record.count == 5 + Int(record[3]) << 8 + Int(record[4])
                } ?? true
            if !client.isSecured {
                #expect(client.failure == .interrupted, "\(offset)")
            } else if truncation == .asEnd, isBorder {
                #expect(client.hasEnded && client.failure == nil, "\(offset)")
            } else {
                let count = client.plaintext.count
                #expect(client.failure == .truncated(bytes: count), "\(offset)")
            }
        }
    }

    /// What a client has of a server that sends so many bytes.
    private func exchange(
        _ version: TLSVersion,
        _ truncation: TLSConfiguration.Truncation,
        upTo limit: Int
    ) throws -> (client: MemoryEnd, bytes: [UInt8]) {
        let pair = try credentials.pair(version) { client, _ in client.truncation = truncation }
        var bytes: [UInt8] = []
        var hasSent = false
        for _ in 0..<8 {
            pair.server.receive(pair.client.outbox)
            pair.client.outbox = []
            if pair.server.isSecured, !hasSent {
                pair.server.send(Array("one".utf8))
                pair.server.send(Array("two".utf8))
                hasSent = true
            }
            let part = pair.server.outbox.prefix(max(0, limit - bytes.count))
            pair.server.outbox = []
            bytes += part
            pair.client.receive(part)
        }
        return (pair.client, bytes)
    }

    @Test("TU2 A client begins behind no byte that came in clear; for a server they are the hello")
    func earlyBytes() throws {
        let pair = try credentials.pair()
        let refusal = pair.client.session.refusal(ofEarlyBytes: 3) as? TLSError
        #expect(refusal == .unexpectedPlaintext(byteCount: 3))
        #expect(pair.server.session.refusal(ofEarlyBytes: 3) == nil)
    }

    @Test("X6 A session that has failed leaves nothing behind")
    func released() throws {
        weak var client: TLSSession?
        weak var server: TLSSession?
        weak var context: TLSContext?
        do {
            let pair = try credentials.pair { client, _ in client.serverName = .name("x.test") }
            pair.run()
            (client, server) = (pair.client.session, pair.server.session)
            context = client?.context
            #expect(pair.client.failure != nil && context != nil)
        }
        #expect(client == nil && server == nil && context == nil)
    }

    @Test("TW4 A size that no record has is refused", arguments: [0, 511, 16_385])
    func recordSize(size: Int) throws {
        var configuration = TLSConfiguration.server(try credentials.server("good"))
        configuration.limits.initialRecordSize = size
        let fault = ConfigurationFault.invalidValue(
            field: "limits.initialRecordSize",
            value: "\(size)"
        )
        #expect(throws: TLSError.configuration(fault)) { try configuration.prepare() }
        configuration.limits.initialRecordSize = 512
        try configuration.prepare()
    }

    @Test("What has nothing in common says what")
    func disagreement() throws {
        let versions = try credentials.pair(.tls12) { _, server in server.minimumVersion = .tls13 }
        versions.run()
        #expect(versions.server.failure == .noAgreement(.version([.tls13])))
        #expect(versions.client.failure == .noAgreement(.version([.tls12])))
        let ciphers = try credentials.pair(.tls12) { client, server in
            client.cipherList = "ECDHE+CHACHA20"
            server.cipherList = "ECDHE+AESGCM"
        }
        ciphers.run()
        #expect(ciphers.server.failure == .noAgreement(.cipherSuite))
        #expect(ciphers.client.failure == .alert(.handshakeFailure, from: .peer))
        let groups = try credentials.pair { client, server in
            client.groups = ["X25519"]
            server.groups = ["P-384"]
        }
        groups.run()
        #expect(groups.server.failure == .noAgreement(.group))
    }
}

extension MemoryEnd {
    /// Asks for new keys.
    func rekey() {
        session.updateKeys(into: output)
        collect()
    }
}
