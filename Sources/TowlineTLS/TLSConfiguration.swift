/// How a connection is secured.
///
/// It is a value: what is changed in a copy changes nothing elsewhere. What it stands for is built
/// once, when it is first used, and shared by all copies that have not been changed since; so keep
/// one and use it for all connections of a kind. Building reads files and may take some 20 ms;
/// ``prepare()`` does it ahead of time.
public struct TLSConfiguration: Sendable {
    /// A client that verifies who the server is.
    public static let client = TLSConfiguration(role: .client)

    /// A client that verifies who the server is, and trusts whom a policy says.
    ///
    ///     try socket.startTLS(.client(trusting: .anchors(file: "authority.pem")))
    ///
    /// - Parameter policy: Whom to trust.
    /// - Returns: The configuration.
    public static func client(trusting policy: TrustPolicy) -> TLSConfiguration {
        var configuration = client
        configuration.trust = policy
        return configuration
    }

    /// A server that shows an identity, and wants none of its clients.
    public static func server(_ identity: Identity) -> TLSConfiguration {
        var configuration = TLSConfiguration(role: .server)
        configuration.identity = identity
        return configuration
    }

    /// A server that shows the identity of one or two files, and wants none of its clients.
    ///
    /// - Parameters:
    ///   - certificateFile: PEM with certificates in any order, or the bytes of one.
    ///   - privateKeyFile: PEM, or bytes as by PKCS#8, PKCS#1 or SEC 1; `nil` if the key is in the
    ///     first.
    ///   - password: What the key is protected by.
    /// - Returns: The configuration.
    /// - Throws: ``IdentityError``.
    public static func server(
        certificateFile: String,
        privateKeyFile: String? = nil,
        password: String? = nil
    ) throws(IdentityError) -> TLSConfiguration {
        .server(
            try Identity(
                certificateFile: certificateFile,
                privateKeyFile: privateKeyFile,
                password: password
            )
        )
    }

    /// Which end we are.
    public var role: Role { didSet { changed() } }

    /// Whom a client wants: what is verified, and what is sent.
    public var serverName = ServerName.fromConnect { didSet { changed() } }

    /// The name that a client sends for the server to choose its identity by.
    public var sentServerName = SentServerName.same { didSet { changed() } }

    /// Which peers are trusted; on servers, which clients, where certificates are asked for.
    ///
    /// A server that asks its clients for certificates has to say whose it takes: it is refused
    /// while nobody has set this.
    public var trust = TrustPolicy.system {
        didSet {
            isTrustChosen = true
            changed()
        }
    }

    /// Who we are; a server needs to say, or have a ``chooser``.
    public var identity: Identity? { didSet { changed() } }

    /// Whether a server asks its clients for certificates.
    public var clientAuthentication = ClientAuthentication.none { didSet { changed() } }

    /// Chooses a server's identity when the client has said whom it wants.
    public var chooser: (any ServerIdentityChooser)? { didSet { changed() } }

    /// Chooses a client's identity when the server has said whose it accepts.
    public var clientChooser: (any ClientIdentityChooser)? { didSet { changed() } }

    /// What is spoken inside, the most wanted first, such as `h2` and `http/1.1`; the server's
    /// order decides.
    ///
    /// Source: RFC 7301.
    public var applicationProtocols: [String] = [] { didSet { changed() } }

    /// Whether a peer that offers or picks no application protocol is refused, too.
    public var requiresApplicationProtocol = false { didSet { changed() } }

    /// The oldest version that is spoken.
    public var minimumVersion = TLSVersion.tls12 { didSet { changed() } }

    /// The newest version that is spoken.
    public var maximumVersion = TLSVersion.tls13 { didSet { changed() } }

    /// The cipher suites of TLS 1.3 by their names; `nil` for the library's.
    public var cipherSuites: [String]? { didSet { changed() } }

    /// The cipher suites of TLS 1.2 as OpenSSL writes them; `nil` for those with ephemeral keys and
    /// authenticated encryption.
    ///
    /// `@SECLEVEL=1` is the lowest level that it may ask for.
    ///
    /// Source: ciphers(1).
    public var cipherList: String? { didSet { changed() } }

    /// The groups for the key exchange, the most wanted first; `nil` for the library's.
    public var groups: [String]? { didSet { changed() } }

    /// Whether later connections go on from earlier ones.
    public var resumption = Resumption.automatic { didSet { changed() } }

    /// How many tickets a server gives after a full handshake, with TLS 1.3; 0 for clients that
    /// send and close without ever reading.
    public var ticketCount = 2 { didSet { changed() } }

    /// What a server encrypts its tickets with.
    public var ticketKeys = TicketKeys.process { didSet { changed() } }

    /// What the end of a connection means that nobody has announced.
    public var truncation = Truncation.error { didSet { changed() } }

    /// Whether the secrets of connections are written down.
    public var keyLog = KeyLog.off { didSet { changed() } }

    /// Whether a client ends a connection on which bytes wait that came in clear.
    public var requiresEmptyReadBuffer = true { didSet { changed() } }

    /// What a peer may cost.
    public var limits = TLSLimits() { didSet { changed() } }

    /// What this stands for, once it is built.
    private(set) var box = ContextBox()

    /// Whether somebody has said whom to trust.
    private(set) var isTrustChosen = false

    init(role: Role) {
        self.role = role
    }

    private mutating func changed() {
        box = ContextBox()
    }

    /// The same, apart from what it stands for.
    var detached: TLSConfiguration {
        var copy = self
        copy.changed()
        return copy
    }

    /// Builds now what this stands for, on the calling thread, whichever that is; does nothing
    /// where it is built.
    ///
    /// - Throws: ``TLSError/configuration(_:)`` or ``TLSError/identity(_:)`` for what cannot be.
    public func prepare() throws(TLSError) {
        _ = try box.build(self)
    }
}

extension TLSConfiguration {
    /// Which end of a connection we are.
    public enum Role: Sendable, Hashable {
        /// We begin.
        case client

        /// We answer.
        case server
    }

    /// The name that a client sends.
    public enum SentServerName: Sendable, Hashable {
        /// The one that is verified, if it is a host's.
        case same

        /// None.
        case none

        /// Another, while the one of ``TLSConfiguration/serverName`` is verified.
        case other(String)
    }

    /// Whether a server asks its clients for certificates.
    public enum ClientAuthentication: Sendable, Hashable {
        /// It does not.
        case none

        /// It does, and takes clients that have none. One that is shown has to be trusted.
        case optional

        /// It does, and refuses clients that have none.
        case required
    }

    /// Whether later connections go on from earlier ones.
    @nonexhaustive
    public enum Resumption: Sendable {
        /// They do not.
        case off

        /// They do, as long as they are made by this configuration.
        case automatic

        /// They do; a client keeps what it needs for it in this cache.
        case cache(SessionCache)
    }

    /// What the end of a connection means that the peer has not announced.
    public enum Truncation: Sendable, Hashable {
        /// Somebody may have cut off the rest: ``TLSError/truncated(bytes:)``.
        case error

        /// An orderly end, unless it cuts a record in two.
        case asEnd
    }

    /// A chooser of one closure, which is given the name that the client has sent, if it has, and
    /// answers `nil` for ``identity``.
    public var identityForServerName: (@Sendable (String?) -> Identity?)? {
        get { (chooser as? ClosureChooser)?.choose }
        set { chooser = newValue.map(ClosureChooser.init) }
    }
}

/// What a peer may cost, and be made to wait for.
public struct TLSLimits: Sendable, Hashable {
    /// So many bytes a client's hello may have.
    public var helloByteCount = 64 * 1024

    /// So many bytes the peer's certificates may have.
    public var chainByteCount = 100 * 1024

    /// So many bytes of records may come in a row without a byte of data in them.
    public var uselessByteCount = 64 * 1024

    /// So many bytes a record of ours has at first, 512 through 16,384.
    ///
    /// At first is within 64 KiB from the beginning, or behind a second of silence; later ones have
    /// 16 KiB. A peer can read a small one without waiting for the rest of a large one.
    public var initialRecordSize = 4 * 1024

    /// The usual ones.
    public init() {}
}
