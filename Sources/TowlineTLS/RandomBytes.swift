internal import COpenSSL

/// Bytes that nobody can foresee: for nonces, keys and masks.
///
/// Source: RAND_bytes(3).
public enum RandomBytes {
    /// So many of them.
    ///
    /// - Parameter count: 0 or more.
    /// - Returns: `count` bytes, other ones each time.
    /// - Throws: ``AlgorithmError/noRandomness`` where the library has no source of them.
    public static func make(count: Int) throws(AlgorithmError) -> [UInt8] {
        precondition(count >= 0, "a number of bytes is not negative")
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        var bytes = [UInt8](repeating: 0, count: count)
        // The array has room for `count` bytes, and the library writes so many.
        guard RAND_bytes_ex(nil, &bytes, count, 0) == 1 else { throw .noRandomness }
        return bytes
    }
}
