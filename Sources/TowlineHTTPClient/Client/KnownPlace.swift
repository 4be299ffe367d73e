internal import TowlineHTTP

/// What requests to one origin have in common, as long as they say nothing else and the client's
/// configuration stays: kept, since the next one may well go there, too.
final class KnownPlace {
    /// How many a client keeps.
    static let limit = 16

    private let scheme: HTTPURL.Scheme
    private let host: HTTPURL.Host
    private let port: UInt16?

    /// Where they find a connection.
    let key: PoolKey

    // What is sent in front, with coded content wanted and without, once it was asked for.

    @exclusivity(unchecked) private var fields: HTTPCommonFields?
    @exclusivity(unchecked) private var decodingFields: HTTPCommonFields?

    init(url: HTTPURL, key: PoolKey) {
        scheme = url.scheme
        host = url.host
        port = url.port
        self.key = key
    }

    /// Whether it is that of a URL.
    func isPlace(of url: HTTPURL) -> Bool {
        scheme == url.scheme && port == url.port && host == url.host
    }

    /// The fields that are sent in front, where coded content is wanted, or not.
    subscript(decodes isDecoding: Bool) -> HTTPCommonFields? {
        get { isDecoding ? decodingFields : fields }
        set { if isDecoding { decodingFields = newValue } else { fields = newValue } }
    }
}
