import Towline
import TowlineTLS

// What stands in the guide to TLS, piece by piece, so that it compiles; the public names alone are
// seen from here. The tests of README and guide find each of their pieces here, line by line.

private func connect(_ socket: StreamSocket) throws {
    try socket.connect(toHost: "box.test", port: 993)
    try socket.startTLS()
}

private func connectToOneself(_ socket: StreamSocket) throws {
    try socket.connect(toHost: "localhost", port: 8443)
    try socket.startTLS(.client(trusting: .anchors(file: "server.pem")))
}

private func listen(_ listener: StreamListener) throws {
    try listener.replaceTLS(.server(certificateFile: "server.pem", privateKeyFile: "server.key"))
    try listener.listen(onPort: 993)
}

private func trustAuthority() throws -> TLSConfiguration {
    var configuration = TLSConfiguration.client(trusting: try .anchors(file: "authority.pem"))
    let others = try Certificate.certificates(file: "others.pem")
    configuration.trust.anchors = .systemAnd(others)
    return configuration
}

private func wantName(_ configuration: inout TLSConfiguration) {
    configuration.serverName = .name("box.test")
}

private func pin(_ configuration: inout TLSConfiguration) {
    let pins = ["ICtlQA+komlO5urWzsEi4w5YI5l4YJ+uCuGc4ui+/xM="].compactMap(PublicKeyPin.init)
    configuration.trust.pins = Set(pins)
}

private func wantClients(_ identity: Identity) throws -> TLSConfiguration {
    var configuration = TLSConfiguration.server(identity)
    configuration.trust = try .anchors(file: "clients.pem")
    configuration.clientAuthentication = .required
    return configuration
}

private func showClient(_ configuration: inout TLSConfiguration, _ password: String) throws {
    configuration.identity = try Identity(pkcs12File: "client.p12", password: password)
}

private func speak(_ configuration: inout TLSConfiguration) {
    configuration.applicationProtocols = ["h2", "http/1.1"]
    configuration.requiresApplicationProtocol = true
}

private final class Agreed: StreamSocketDelegate {
    func socketDidSecure(_ socket: StreamSocket) throws {
        guard let info = socket.tlsInfo else { return }
        print("\(info.version), \(info.cipherSuite), for \(info.sentServerName ?? "nobody")")
        print("inside: \(info.applicationProtocol ?? "nothing agreed"), resumed: \(info.isResumed)")
        for certificate in info.peerChain { print(certificate) }
    }
}

private struct Refusal: Error {
    let text: String

    init(_ text: String) { self.text = text }
}

private final class Upgrading: StreamSocketDelegate {
    let configuration = TLSConfiguration.client

    func socket(_ socket: StreamSocket, didRead line: RawSpan, tag: Int) throws {
        guard tag == 3 else { return try goOn(line, tag) }
        guard line.starts(with: "220") else { throw Refusal(String(decoding: line)) }
        try socket.startTLS(configuration)
    }

    private func goOn(_ line: RawSpan, _ tag: Int) throws {}
}

private func chooseByName(
    _ configuration: inout TLSConfiguration,
    _ first: Identity,
    _ other: TLSConfiguration
) {
    configuration.chooser = NamedIdentities([
        "a.test": .identity(first), "*.b.test": .configuration(other),
    ])
}

private enum Deciding {
    private static func ask(
        _ text: String,
        _ certificate: Certificate?,
        _ answer: @escaping @Sendable (Bool) -> Void
    ) {}

    final class Asking: StreamSocketTLSDelegate {
        func socket(
            _ socket: StreamSocket,
            didReceive trust: TLSTrust,
            completionHandler: @escaping @Sendable (Bool) -> Void
        ) {
            switch trust.verdict {
            case .success: completionHandler(true)
            case .failure(let failure): ask("\(failure)", trust.chain.first, completionHandler)
            }
        }
    }
}

private func decideByOneself(_ configuration: inout TLSConfiguration) {
    configuration.trust = .delegate
}

private final class Explaining: StreamSocketDelegate {
    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        switch report.error?.tls {
        case .untrusted(let failure): print("we refused the peer: \(failure)")
        case .alert(let alert, from: .peer): print("the peer refused us: \(alert)")
        case .truncated(let count): print("cut off behind \(count) bytes")
        default: print(report)
        }
    }
}
