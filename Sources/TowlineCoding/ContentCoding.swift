/// How the bytes of a content were made smaller for the way.
///
/// gzip and deflate are part of every build, Brotli and Zstandard of those with the package's
/// traits `Brotli` and `Zstd`.
///
/// Source: RFC 9110 section 8.4.1; RFC 7932 for Brotli, RFC 8878 and RFC 9659 for Zstandard.
public enum ContentCoding: String, Sendable, Hashable, CaseIterable {
    /// The format of gzip(1), with a checksum; `x-gzip` is another name of it.
    case gzip

    /// The format of zlib, with a checksum; some senders leave its wrapping away, and are
    /// understood.
    case deflate

    /// Brotli, with windows of up to 16 MiB.
    case brotli = "br"

    /// Zstandard, with windows of up to 8 MiB.
    case zstd

    /// As it is.
    case identity

    /// The coding that a field names, unless it is unknown or not part of this build.
    ///
    /// - Parameter name: Such as `gzip`; upper and lower case are the same.
    public init?(name: some StringProtocol) {
        let name = name.lowercased()
        guard let coding = ContentCoding(rawValue: name == "x-gzip" ? "gzip" : name),
            coding.isBuiltIn
        else { return nil }
        self = coding
    }

    /// As it stands in `Content-Encoding` and `Accept-Encoding`.
    public var name: String { rawValue }

    /// Whether this build can undo it.
    public var isBuiltIn: Bool {
        switch self {
        case .gzip, .deflate, .identity: true
        case .brotli: BrotliStage.isBuiltIn
        case .zstd: ZstdStage.isBuiltIn
        }
    }

    /// What this build can undo, but for ``identity``, in the order in which it is asked for.
    public static let acceptable = allCases.filter { $0 != .identity && $0.isBuiltIn }

    /// The same as the value of `Accept-Encoding`, such as `gzip, deflate, br, zstd`.
    public static let acceptEncoding = acceptable.map(\.name).joined(separator: ", ")
}
