/// Why the library computed nothing.
@nonexhaustive
public enum AlgorithmError: Error, Hashable, CustomStringConvertible {
    /// The library does not have this algorithm, or its configuration leaves it out.
    case notAvailable(String)

    /// The library has no source of random bytes.
    case noRandomness

    /// The error as one line.
    public var description: String {
        switch self {
        case .notAvailable(let name):
            "OpenSSL offers no \(name) here; its configuration may be one for FIPS"
        case .noRandomness: "OpenSSL has no source of random bytes"
        }
    }
}
