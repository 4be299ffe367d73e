// An echo server: sends back whatever it reads, in clear or over TLS, until SIGTERM.

import ExampleSupport
import Glibc
import Towline
import TowlineTLS

final class Echo: ServerDelegate, StreamSocketDelegate {
    let server: Server
    let idleTimeout: Duration?

    init(_ server: Server, _ options: Options) throws {
        self.server = server
        idleTimeout = try options.seconds("--idle-timeout")
    }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        socket.delegate = self
        // So many bytes of its echo may a peer leave unread before no more is read from it.
        socket.writeHighWaterMark = 16 * 1024 * 1024
        if let idleTimeout { try socket.setIdleTimeout(both: idleTimeout) }
        try socket.read()
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        try socket.write(bytes)
        if !socket.isAboveHighWaterMark { try socket.read() }
    }

    func socketDidBecomeWritable(_ socket: StreamSocket) throws {
        try socket.read()
    }

    func socketDidIdle(_ socket: StreamSocket, direction: IdleDirection) {
        socket.disconnect()
    }
}

/// How connections are secured, as the options say.
struct Security {
    let options: Options

    /// `nil` for connections in clear.
    func configuration() throws -> TLSConfiguration? {
        guard let identity = try defaultIdentity() else {
            let option = EchoServer.options.dropFirst().first { options.text($0) != nil }
            guard let option else { return nil }
            throw UsageError("\(option) needs --tls-cert or --tls-p12")
        }
        var configuration = TLSConfiguration.server(identity)
        try askForCertificates(&configuration)
        configuration.applicationProtocols = options.list("--alpn")
        let choices = Dictionary(try options.texts("--tls-name").map(choice)) { _, last in last }
        if !choices.isEmpty { configuration.chooser = NamedIdentities(choices) }
        try configuration.prepare()
        return configuration
    }

    private func defaultIdentity() throws -> Identity? {
        let password = options.text("--tls-password")
        let key = options.text("--tls-key")
        switch (options.text("--tls-cert"), options.text("--tls-p12")) {
        case (nil, nil): return nil
        case (let file?, nil):
            return try read("--tls-cert") {
                try Identity(certificateFile: file, privateKeyFile: key, password: password)
            }
        case (nil, let file?) where key == nil:
            return try read("--tls-p12") { try Identity(pkcs12File: file, password: password) }
        case (_, _?): throw UsageError("--tls-p12 excludes --tls-cert and --tls-key")
        }
    }

    private func askForCertificates(_ configuration: inout TLSConfiguration) throws {
        let kinds: [String: TLSConfiguration.ClientAuthentication] = [
            "none": .none, "optional": .optional, "required": .required,
        ]
        let wanted = try options.value("--tls-client-auth") { kinds[$0] }
        if let file = options.text("--tls-client-ca") {
            configuration.trust = try read("--tls-client-ca") {
                try .anchors(Certificate.certificates(file: file))
            }
            configuration.clientAuthentication = wanted ?? .required
        } else if let wanted, wanted != .none {
            throw UsageError("--tls-client-auth needs --tls-client-ca")
        }
    }

    private func choice(_ text: String) throws -> (String, ServerChoice) {
        let parts = text.split(omittingEmptySubsequences: false) { "=,".contains($0) }
            .map(String.init)
        guard parts.count == 3, !parts.contains("") else {
            throw UsageError("--tls-name \(text): not valid")
        }
        return try read("--tls-name \(parts[0])") {
            (parts[0], .identity(try Identity(certificateFile: parts[1], privateKeyFile: parts[2])))
        }
    }

    private func read<Value>(_ option: String, _ body: () throws -> Value) throws -> Value {
        do { return try body() } catch { throw Failure("\(option): \(error)") }
    }
}

@main
enum EchoServer {
    static let options = [
        "--idle-timeout", "--alpn", "--tls-cert", "--tls-key", "--tls-p12", "--tls-password",
        "--tls-client-ca", "--tls-client-auth", "--tls-name",
    ]

    static let help = """
          --idle-timeout SECONDS
                           close connections on which nothing has moved for so long; never
          --tls-cert FILE  secure connections, with the certificates of this file
          --tls-key FILE   and their key; without it, the key is in the same file
          --tls-p12 FILE   certificates and key in one, instead
          --tls-password TEXT           what the key is protected by
          --tls-client-ca FILE          whom clients' certificates have to be issued by
          --tls-client-auth KIND        none, optional or required; required with --tls-client-ca
          --tls-name NAME=CERT,KEY      what those are shown who want this name, such as a.test or
                                        *.a.test; may be given several times
          --alpn LIST      what is spoken inside, such as h2,http/1.1, the most wanted first

        SIGHUP reads the files of TLS again.

        """

    static func main() {
        Server.main("echo-server", options: options, help: help) { server, options in
            let security = Security(options: options)
            let configuration = try security.configuration()
            let echo = try Echo(server, options)
            try server.run(
                echo,
                prepare: { listener in
                    guard let configuration else { return }
                    try listener.replaceTLS(configuration)
                    // Those that are connected go on with what they have.
                    try server.onSignal(SIGHUP) {
                        if let new = try security.configuration() { try listener.replaceTLS(new) }
                    }
                }
            )
        }
    }
}
