/// Why and for how long a listener accepts nobody: descriptors or memory have run out.
public struct AcceptPause: Sendable, Hashable, CustomStringConvertible {
    /// The address that is listened on; the one of IPv4 if there are two.
    public let address: SocketAddress

    /// What the kernel refused.
    public let cause: SystemCallError

    /// How many descriptors the process may have, if that is what has run out.
    public let descriptorLimit: Int?

    /// When accepting is tried again, unless a descriptor comes free before.
    public let retryAfter: Duration

    var retryMilliseconds: Int { Int(retryAfter / .milliseconds(1)) }

    /// Place, reason and pause as one line, such as `accept on :8080 paused: too many open files
    /// (EMFILE), 1024 of 1024 in use; retry in 100 ms`.
    public var description: String {
        // The kernel refuses one more exactly when every number below the limit is in use.
        let use = descriptorLimit.map { ", \($0) of \($0) in use" } ?? ""
        return "accept on \(place) paused: \(cause.reason)\(use); retry in \(retryMilliseconds) ms"
    }

    private var place: String {
        switch address {
        case .ipv4(.any, let port): ":\(port)"
        case .ipv6(.any, let port, _): ":\(port)"
        default: "\(address)"
        }
    }
}
