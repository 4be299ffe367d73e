internal import TowlineHTTP
internal import TowlineTLS

/// What two exchanges must have in common to share a connection.
@dynamicMemberLookup
final class PoolKey {
    /// All of it.
    struct Parts: Hashable {
        var scheme: HTTPURL.Scheme
        var host: HTTPURL.Host
        var port: UInt16
        /// Where the connection goes instead.
        var detour: HTTPHostPort?
        var unixPath: String?
        /// Whether a proxy stands between; its credential tells connections apart, too.
        var way = Way.direct
        /// Whether the connection is handed over as soon as it is there.
        var isHandedOver = false
        /// The name that is sent and verified instead of the host.
        var serverName: String?
        /// Whose certificate is shown.
        var identity: IdentityMark?
        var partition: String
    }

    private let parts: Parts

    init(_ parts: Parts) {
        self.parts = parts
    }

    @inline(__always)
    subscript<Part>(dynamicMember part: KeyPath<Parts, Part>) -> Part { parts[keyPath: part] }

    /// One that is like it but for what is changed.
    func changed(_ change: (inout Parts) -> Void) -> PoolKey {
        var parts = parts
        change(&parts)
        return PoolKey(parts)
    }
}

extension PoolKey: Hashable {
    static func == (left: PoolKey, right: PoolKey) -> Bool {
        left === right || left.parts == right.parts
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(parts)
    }
}

extension PoolKey {
    /// Who stands between.
    enum Way: Hashable {
        /// Nobody.
        case direct
        /// A proxy of HTTP, which is given requests for any origin: the key is its own.
        case forward(HTTPProxy)
        /// A proxy that makes a tunnel to the origin.
        case tunnel(HTTPProxy)
    }

    /// Where the connection leads, in the end.
    var place: HTTPHostPort { parts.detour ?? HTTPHostPort(parts.host.text, parts.port) }
}

/// Tells identities apart by what they show.
struct IdentityMark: Hashable {
    let identity: Identity

    static func == (left: IdentityMark, right: IdentityMark) -> Bool {
        left.bytes == right.bytes
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(bytes)
    }

    private var bytes: [UInt8] { identity.certificate.der }
}
