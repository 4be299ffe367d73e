public import Towline
public import TowlineTLS

/// The connection that serves an exchange.
public struct HTTPConnectionFacts {
    /// The peer: the server, or a proxy.
    public let remoteAddress: SocketAddress?
    /// Where the connection begins on this host.
    public let localAddress: SocketAddress?
    /// Whether another exchange used it before.
    public let isReused: Bool
    /// How it is secured; `nil` if it is not.
    public let tls: TLSInfo?
    /// Such as `http/1.1`.
    public let applicationProtocol: String
}
