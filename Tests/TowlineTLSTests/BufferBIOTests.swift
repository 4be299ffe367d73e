import COpenSSL
import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

@Suite("Buffer BIO") struct BufferBIOTests {
    @Test("X1 TB1 Sessions read and write by a BIO of ours, one kind for all, and no socket")
    func oneKind() throws {
        let pair = try Credentials().pair()
        pair.run()
        #expect(pair.client.isSecured && pair.server.isSecured)
        var kinds: Set<CInt> = []
        for session in [pair.client.session, pair.server.session] {
            let handle = try #require(session.handle)
            let bio = try #require(SSL_get_rbio(handle))
            #expect(SSL_get_wbio(handle) == bio)
            #expect(SSL_get_fd(handle) == -1)
            #expect(BIO_get_data(bio) == UnsafeMutableRawPointer(session.wire))
            #expect(String(cString: BIO_method_name(bio)) == "towline")
            kinds.insert(BIO_method_type(bio))
        }
        #expect(kinds.count == 1)
        #expect(kinds.allSatisfy { $0 & BIO_TYPE_DESCRIPTOR == 0 })
    }

    /// A wire, and a BIO of it, which are gone behind the call.
    private func withBIO(
        _ body: (UnsafeMutablePointer<Wire>, OpaquePointer) throws -> Void
    ) throws {
        let wire = UnsafeMutablePointer<Wire>.allocate(capacity: 1)
        wire.initialize(to: Wire())
        defer {
            wire.pointee.dropKept()
            wire.deinitialize(count: 1)
            wire.deallocate()
        }
        let bio = try #require(BufferBIO.make(for: wire))
        defer { BIO_free(bio) }
        try body(wire, bio)
    }

    @Test("TB5 It says how much there is to read and to send, and flushes at any time")
    func questions() throws {
        try withBIO { wire, bio in
            let output = SecurityOutput()
            #expect(towline_BIO_flush(bio) == 1)
            #expect(towline_BIO_pending(bio) == 0)
            #expect(towline_BIO_wpending(bio) == 0)
            [1, 2, 3].withUnsafeBytes { (lent: UnsafeRawBufferPointer) in
                let count = lent.count
                wire.pointee.keep([8, 9])
                wire.pointee.lend(lent, output)
                #expect(towline_BIO_pending(bio) == CInt(2 + count))
                var byte: UInt8 = 0
                #expect(BIO_read(bio, &byte, 1) == 1 && byte == 8)
                #expect(towline_BIO_pending(bio) == CInt(1 + count))
                #expect(BIO_write(bio, "hello", 5) == 5)
                #expect(towline_BIO_wpending(bio) == 5)
                #expect(towline_BIO_flush(bio) == 1)
                wire.pointee.endLoan()
            }
            #expect(towline_BIO_wpending(bio) == 0)
            #expect(output.count == 5)
            // What it has no answer to is no.
            #expect(towline_BIO_reset(bio) == 0)
        }
    }

    @Test("TB5 It is at its end when the peer has ended and nothing is left, and not before")
    func end() throws {
        try withBIO { wire, bio in
            var byte: UInt8 = 0
            #expect(BIO_read(bio, &byte, 1) <= 0)
            #expect(towline_BIO_should_retry(bio) != 0)
            #expect(towline_BIO_eof(bio) == 0)
            wire.pointee.keep([7])
            wire.pointee.hasEnded = true
            #expect(towline_BIO_eof(bio) == 0)
            #expect(BIO_read(bio, &byte, 1) == 1)
            #expect(towline_BIO_eof(bio) == 1)
            #expect(BIO_read(bio, &byte, 1) <= 0)
            #expect(towline_BIO_should_retry(bio) == 0)
        }
    }
}
