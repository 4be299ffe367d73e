import TestSupport
import Testing
import Towline

/// A mail server of the test's, and what it does about STARTTLS.
struct MailServer: Sendable, CustomStringConvertible {
    let description: String
    /// What it offers, with its greeting behind `EHLO`.
    let offer: String
    /// What it answers to `STARTTLS`; `nil` where it has not offered it.
    let answer: String?
    /// What the client says of it.
    let complaint: String

    static let all = [
        MailServer(
            description: "drops it from the offer",
            offer: "250-mail\r\n250-SIZE 1000\r\n250 HELP\r\n",
            answer: nil,
            complaint: "the server does not offer STARTTLS"
        ),
        MailServer(
            description: "offers a login instead",
            offer: "250-mail\r\n250-AUTH PLAIN LOGIN\r\n250 HELP\r\n",
            answer: nil,
            complaint: "the server does not offer STARTTLS"
        ),
        MailServer(
            description: "offers and refuses it",
            offer: "250-mail\r\n250 STARTTLS\r\n",
            answer: "454 not now\r\n",
            complaint: "the server answers STARTTLS with \"454 not now\""
        ),
        MailServer(
            description: "sends more behind its consent",
            offer: "250-mail\r\n250 STARTTLS\r\n",
            answer: "220 go on\r\n250-mail\r\n250 AUTH PLAIN\r\n",
            complaint: "peer sent 26 bytes in clear behind its consent to TLS; they were dropped"
        ),
    ]
}

@Suite("mail-submit") struct MailSubmitTests {
    @Test(
        "Scenario 13: a mail server without STARTTLS is told nothing in clear",
        arguments: MailServer.all
    )
    func refusals(server: MailServer) throws {
        let listener = try BlockingListener()
        let port = try #require(listener.address.port)
        let password = try ScratchFile(Array("secret\n".utf8))
        let program = try ChildProcess(
            BuiltProduct.path(of: "mail-submit"),
            [
                "127.0.0.1", "\(port)", "--from", "a@a.test", "--to", "b@b.test",
                "--login", "a", "--password-file", password.path,
            ]
        )
        let peer = try listener.accept()
        try peer.send("220 mail\r\n")
        let hello = Array("EHLO localhost\r\n".utf8)
        #expect(try peer.receive(hello.count) == hello)
        try peer.send(server.offer)
        if let answer = server.answer {
            let request = Array("STARTTLS\r\n".utf8)
            #expect(try peer.receive(request.count) == request)
            try peer.send(answer)
        }
        // Not a byte more, be it mail or a handshake.
        #expect(try peer.receiveUntilEnd() == [])
        let exit = try program.waitForExit()
        #expect(exit?.code == 1)
        #expect(exit?.standardOutput == "")
        let said = exit?.standardError ?? ""
        #expect(said.hasPrefix("mail-submit: nothing was submitted; "), "\(said)")
        #expect(said.hasSuffix("\(server.complaint)\n"), "\(said)")
    }
}
