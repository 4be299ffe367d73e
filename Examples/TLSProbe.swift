// Connects, secures the connection, and prints what the peer offered, or why it will not do.

import ExampleSupport
import Towline
import TowlineTLS

/// Two connections, one after the other: the second one shows whether it goes on from the first.
final class Probe: StreamSocketDelegate {
    let reactor: Reactor
    let host: String
    let port: UInt16
    let upgrade: Upgrade?
    let sessions = SessionCache()
    var configuration: TLSConfiguration
    var isSecure = false
    var isSecond = false
    var ending: ExitCode?
    lazy var socket = StreamSocket(reactor: reactor, delegate: self)

    init(_ options: Options) throws {
        (reactor, host) = (try Reactor(), options.words[0])
        port = try options.port(1)
        upgrade = try options.value("--starttls", Upgrade.init)
        configuration = try Self.configuration(options)
        configuration.resumption = .cache(sessions)
    }

    static func configuration(_ options: Options) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.client
        let name = options.text("--name") ?? options.words[0]
        do { _ = try PeerName(name) } catch { throw UsageError("\(error); --name says another") }
        configuration.serverName = .name(name)
        do {
            if let file = options.text("--cacert") {
                configuration.trust.anchors = .only(try Certificate.certificates(file: file))
            }
            configuration.identity = try options.text("--p12").map {
                try Identity(pkcs12File: $0, password: options.text("--password"))
            }
        } catch { throw ExitCode(2, "\(error)") }
        configuration.trust.pins =
            try options.value("--pin") { PublicKeyPin($0).map { [$0] } }
        let versions = ["1.2": TLSVersion.tls12, "1.3": .tls13]
        configuration.minimumVersion = try options.value("--tls-min") { versions[$0] } ?? .tls12
        configuration.maximumVersion = try options.value("--tls-max") { versions[$0] } ?? .tls13
        configuration.applicationProtocols = options.list("--alpn")
        return configuration
    }

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        if !isSecond { print("connected to \(address)") }
        if let upgrade { try upgrade.begin(socket) } else { try socket.startTLS(configuration) }
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        guard socket.tlsInfo == nil else { return _ = try socket.read() }
        guard try upgrade?.isAgreed(bytes, tag, socket) == true else { return }
        try socket.startTLS(configuration)
    }

    func socketDidSecure(_ socket: StreamSocket) throws {
        guard let info = socket.tlsInfo else { return }
        guard !isSecond else {
            print("resumed: \(info.isResumed ? "yes" : "no")")
            return socket.disconnect()
        }
        isSecure = true
        show(info)
        // Tickets come behind the handshake, and so may the peer's word that it will not have us.
        try socket.read()
        wait(.milliseconds(300), socket.id)
    }

    func wait(_ time: Duration, _ id: SocketID) {
        reactor.schedule(after: .milliseconds(10)) { [self] in
            guard time > .zero, sessions.count == 0 else {
                reactor.streamSocket(id)?.disconnect()
                return
            }
            wait(time - .milliseconds(10), id)
        }
    }

    func show(_ info: TLSInfo) {
        print("version: \(info.version)\ncipher: \(info.cipherSuite)")
        print("group: \(info.group ?? "none")")
        print("application protocol: \(info.applicationProtocol ?? "none")")
        for (depth, certificate) in info.peerChain.enumerated() {
            let names = (certificate.hostNames + certificate.addresses).joined(separator: ", ")
            let dates = [certificate.notBefore, certificate.notAfter].map { $0?.description ?? "?" }
            print("certificate \(depth): \(certificate.subject)")
            print("  issuer: \(certificate.issuer)\n  names: \(names.isEmpty ? "none" : names)")
            print("  valid: \(dates[0]) to \(dates[1])")
            print("  key: \(certificate.keyType), pin sha256//\(certificate.publicKeyPin)")
        }
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        let isRefused = if case .alert? = report.error?.tls { true } else { false }
        if !isSecond, !isSecure || isRefused {
            ending = ExitCode(Self.code(of: report), report.reason)
        } else if isSecond, let error = report.error {
            print("resumed: not known, since the second connection failed: \(error)")
        }
        guard !isSecond, ending == nil else { return reactor.stop() }
        isSecond = true
        do { try socket.connect(toHost: host, port: port) } catch { reactor.stop() }
    }

    static func code(of report: DisconnectReport) -> CInt {
        switch (report.phase, report.error?.tls) {
        case (.resolving, _): 6
        case (.connecting, _): 7
        case (_, .untrusted): 60
        case (_, _): 35
        }
    }
}

let usage = """
    usage: tls-probe HOST PORT [OPTION VALUE]...

      --name NAME      whom to look for, and to ask for; HOST
      --cacert FILE    whom to trust; the system's roots
      --p12 FILE       who we are, --password TEXT what that is protected by
      --pin SHA256     a public key that has to be in the chain, in Base64
      --tls-min 1.2    the oldest version, and --tls-max 1.3 the newest
      --alpn LIST      what could be spoken inside, such as h2,http/1.1
      --starttls KIND  begin in clear, with smtp, imap or postgres

    Exit codes: 0, or 60: we do not trust the peer; 35: TLS failed otherwise; 7: no connection;
    6: unknown host; 2: the options, or the files they name, are of no use.
    """
let options = [
    "name", "cacert", "p12", "password", "pin", "tls-min", "tls-max", "alpn", "starttls",
]
let program = Program(
    "tls-probe",
    usage: usage,
    options: options.map { "--\($0)" },
    words: ["HOST", "PORT"]
)
program.main { options in
    let probe = try Probe(options)
    try probe.socket.connect(toHost: probe.host, port: probe.port)
    try probe.reactor.run()
    if let ending = probe.ending { throw ending }
}
