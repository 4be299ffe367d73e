internal import TowlineHTTP
internal import TowlineTLS

/// What two exchanges must have in common to share a connection.
struct PoolKey: Hashable {
    var scheme: HTTPURL.Scheme
    var host: HTTPURL.Host
    var port: UInt16
    /// Where the connection goes instead.
    var detour: HTTPHostPort?
    var unixPath: String?
    /// The name that is sent and verified instead of the host.
    var serverName: String?
    /// Whose certificate is shown.
    var identity: IdentityMark?
    var partition: String
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
