import COpenSSL
import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

@Suite("Sessions") struct TLSSessionTests {
    let credentials: Credentials

    init() throws {
        credentials = try Credentials()
    }

    @Test(
        "TB2 TB4 Two ends agree and echo, however their bytes are cut",
        arguments: TLSVersion.allCases,
        Handing.allCases
    )
    func echo(version: TLSVersion, handing: Handing) throws {
        let pair = try credentials.pair(version, handing)
        pair.run()
        #expect(pair.client.failure == nil && pair.server.failure == nil)
        #expect(pair.client.isSecured && pair.server.isSecured)
        let text = Array("hello\n".utf8)
        pair.client.send(text)
        pair.run()
        #expect(pair.server.plaintext == text)
        pair.server.send(pair.server.plaintext)
        pair.run()
        #expect(pair.client.plaintext == text)
        pair.client.finish()
        pair.run()
        #expect(pair.server.hasEnded && pair.server.failure == nil)
    }

    @Test("TB7 The library gives its buffers back, takes writes in part, and reads nothing ahead")
    func modes() throws {
        let pair = try credentials.pair()
        pair.run()
        for end in [pair.client, pair.server] {
            let handle = try #require(end.session.handle)
            let modes = towline_SSL_get_mode(handle)
            for mode in [
                towline_SSL_MODE_ENABLE_PARTIAL_WRITE, towline_SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
                towline_SSL_MODE_RELEASE_BUFFERS, towline_SSL_MODE_NO_AUTO_CHAIN,
            ] {
                #expect(modes & mode == mode)
            }
            #expect(SSL_get_read_ahead(handle) == 0)
            // Ours hold nothing, either.
            #expect(end.session.wire.pointee.isEmpty)
            #expect(end.session.delayedPlaintext.capacity == 0)
        }
    }

    @Test("TB11 What Swift cannot see of the library is a function, and does what its name says")
    func functions() throws {
        let context = try #require(SSL_CTX_new(TLS_server_method()))
        defer { SSL_CTX_free(context) }
        #expect(towline_OPENSSL_VERSION_NUMBER >= 0x3000_0020)
        #expect(towline_SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1)
        #expect(towline_SSL_CTX_get_min_proto_version(context) == TLS1_2_VERSION)
        SSL_CTX_set_options(context, towline_SSL_OP_NO_RENEGOTIATION)
        #expect(SSL_CTX_get_options(context) & towline_SSL_OP_NO_RENEGOTIATION != 0)
        _ = towline_SSL_CTX_set_mode(context, towline_SSL_MODE_RELEASE_BUFFERS)
        #expect(towline_SSL_CTX_get_mode(context) & towline_SSL_MODE_RELEASE_BUFFERS != 0)
        #expect(towline_SSL_CTX_set1_groups_list(context, "P-256") == 1)
        #expect(towline_SSL_CTX_set1_groups_list(context, "no such group") == 0)
        let code = LibraryErrors.take().first
        #expect(code?.library == ERR_LIB_SSL || code?.words.isEmpty == false)
    }
}
