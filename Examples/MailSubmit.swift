// Submits a message by SMTP, over TLS that begins in mid-stream (STARTTLS), or not at all.

import ExampleSupport
import Towline
import TowlineTLS

/// A message on its way: one command, then its reply, until the server has taken it.
final class Submission: StreamSocketDelegate {
    /// Which reply comes next.
    enum Step {
        case greeting, offer, consent, login, sender, recipient(Int), start, acceptance, end
    }

    let reactor: Reactor
    let configuration: TLSConfiguration
    let sender: String
    let recipients: [String]
    let message: String
    let login: MailLogin?
    var logins: [MailLogin.Exchange] = []
    var (step, asked, wanted) = (Step.greeting, "", "")
    var lines: [String] = []
    var failure: Failure?
    lazy var socket = StreamSocket(reactor: reactor, delegate: self)

    init(_ options: Options) throws {
        reactor = try Reactor()
        configuration = try Self.configuration(options)
        sender = try MailText.address(options.text("--from"), "--from")
        recipients = try options.texts("--to").map { try MailText.address($0, "--to") }
        guard !recipients.isEmpty else { throw UsageError("--to is missing") }
        let file = options.text("--password-file")
        login = try options.text("--login").map { user in
            guard let file else { throw UsageError("--password-file is missing") }
            return try MailLogin(user: user, passwordFile: file)
        }
        message = MailText.readMessage()
    }

    static func configuration(_ options: Options) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.client
        if let name = options.text("--name") { configuration.serverName = .name(name) }
        if let file = options.text("--cacert") {
            configuration.trust = .anchors(try Certificate.certificates(file: file))
        }
        return configuration
    }

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        try awaitReply("220", to: "the connection", .greeting)
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        let line = String(decoding: bytes).filter { !$0.isNewline }
        guard line.hasPrefix(wanted) else {
            throw Failure("the server answers \(asked) with \(line.debugDescription)")
        }
        lines.append(line)
        guard lines.count < 100 else { throw Failure("the server's answer has no end") }
        guard line.dropFirst(3).first != "-" else { return try readLine() }
        let reply = lines
        lines = []
        try take(reply)
    }

    /// Goes on by a reply.
    func take(_ reply: [String]) throws {
        switch step {
        case .greeting: try ask("EHLO localhost", "250", .offer)
        case .offer where socket.tlsInfo != nil:
            logins = try login?.exchanges(for: reply) ?? []
            try logIn()
        case .login: try logIn()
        case .offer:
            guard reply.contains(where: { $0.dropFirst(4).uppercased() == "STARTTLS" }) else {
                throw Failure("the server does not offer STARTTLS")
            }
            try ask("STARTTLS", "220", .consent)
        case .consent: try socket.startTLS(configuration)
        case .sender: try ask("RCPT TO:<\(recipients[0])>", "25", .recipient(0))
        case .recipient(recipients.count - 1): try ask("DATA", "354", .start)
        case .recipient(let index):
            try ask("RCPT TO:<\(recipients[index + 1])>", "25", .recipient(index + 1))
        case .start:
            try socket.write(message + ".\r\n")
            try awaitReply("250", to: "the message", .acceptance)
        case .acceptance:
            print("taken: \(reply.joined(separator: "; "))")
            try ask("QUIT", "221", .end)
        case .end: socket.disconnect()
        }
    }

    /// What the server has said so far, anybody may have said: it is asked again.
    func socketDidSecure(_ socket: StreamSocket) throws {
        if let info = socket.tlsInfo { print("secured: \(info.version), \(info.cipherSuite)") }
        try ask("EHLO localhost", "250", .offer)
    }

    /// Says who we are, where that is wanted, and whom the message is from.
    func logIn() throws {
        guard let next = logins.first else {
            return try ask("MAIL FROM:<\(sender)>", "250", .sender)
        }
        logins.removeFirst()
        try ask(next.command, next.code, .login, as: next.name)
    }

    func ask(_ command: String, _ code: String, _ next: Step, as name: String? = nil) throws {
        try socket.write("\(command)\r\n")
        try awaitReply(code, to: name ?? command, next)
    }

    func awaitReply(_ code: String, to asked: String, _ step: Step) throws {
        (wanted, self.asked, self.step) = (code, asked, step)
        try readLine()
    }

    func readLine() throws {
        try socket.read(to: .lf, maxLength: 2_048, timeout: .seconds(60))
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        // The message is where it belongs, whatever comes of a goodbye.
        if case .end = step {} else { failure = Failure("nothing was submitted; \(report.reason)") }
        reactor.stop()
    }
}

let usage = """
    usage: mail-submit HOST PORT --from ADDRESS --to ADDRESS [OPTION VALUE]... <MESSAGE

      --from ADDRESS   whom the message is from
      --to ADDRESS     whom it is for; may be given several times
      --name NAME      whom the server's certificate has to be made out to; HOST
      --cacert FILE    whom to trust; the system's roots
      --login NAME     whom to log in as
      --password-file FILE   the password for that, in the first line

    Nothing of the message or of the login is sent before the connection is secure. Exit codes: 0,
    the server has taken it; 1, it has not, and a line says why; 2, the options make no sense.
    """
let options = ["--from", "--to", "--name", "--cacert", "--login", "--password-file"]
let program = Program("mail-submit", usage: usage, options: options, words: ["HOST", "PORT"])
program.main { options in
    let submission = try Submission(options)
    try submission.socket.connect(toHost: options.words[0], port: options.port(1))
    try submission.reactor.run()
    if let failure = submission.failure { throw failure }
}
