/// What is wrong with a configuration.
@nonexhaustive
public enum ConfigurationFault: Sendable, Hashable, CustomStringConvertible {
    /// This is neither a host name nor an address.
    case invalidPeerName(String)

    /// A client has to say whom it wants, and neither the configuration nor the connect did.
    case noServerName

    /// The policy asks the delegate, which cannot be asked.
    case noTrustDelegate

    /// A server needs an identity.
    case noIdentity

    /// A client's configuration was to secure accepted connections.
    case notForServer

    /// A server asks for certificates, and nobody has said whose it takes.
    case noClientTrust

    /// There is a set of pins with no pin in it, so that no certificate would do.
    case noPins

    /// No root to trust was found in any of these places.
    case noTrustedRoots(lookedIn: [String])

    /// The lowest version is above the highest.
    case noVersion(minimum: TLSVersion, maximum: TLSVersion)

    /// The library does not know a cipher, a group or a protocol, or refuses it.
    case invalidValue(field: String, value: String)

    /// A decoder above the socket holds so many bytes that came in clear.
    case decoderHoldsBytes(count: Int)

    /// The fault as one line.
    public var description: String {
        switch self {
        case .invalidPeerName(let name):
            "\"\(OneLine.text(name))\" is neither a host name nor an address"
        case .noServerName:
            "no name to check the server's certificate against; set serverName"
        case .noTrustDelegate:
            "trust is the delegate's to decide, and it is no StreamSocketTLSDelegate"
        case .noIdentity: "a server needs an identity"
        case .notForServer:
            "this is a client's configuration; accepted connections need TLSConfiguration.server"
        case .noClientTrust:
            "a server that asks for certificates has to say whose it takes; set trust"
        case .noPins: "the set of pins is empty, so that no certificate would do; nil wants none"
        case .noTrustedRoots(let places):
            "no trusted roots found. Looked in: \(places.joined(separator: ", "))"
        case .noVersion(let minimum, let maximum):
            "no version is allowed: at least \(minimum), at most \(maximum)"
        case .invalidValue(let field, let value): "\(field): \"\(OneLine.text(value))\" is refused"
        case .decoderHoldsBytes(let count):
            "\(count) bytes that came in clear wait in a decoder"
        }
    }
}
