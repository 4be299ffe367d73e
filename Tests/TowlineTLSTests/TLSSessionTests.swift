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
}
