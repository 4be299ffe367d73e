internal import Glibc

/// Files that are read whole.
enum FileBytes {
    /// More than any file of certificates has.
    static let limit = 64 << 20

    /// The bytes of a file, however long it is up to the limit.
    ///
    /// Source: open(2), read(2).
    static func read(_ path: String) throws(IdentityError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw .unreadable(path: path, errno: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        defer { chunk.withUnsafeMutableBytes { Wiping.wipe($0) } }
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count > 0 {
                bytes += chunk.prefix(count)
                guard bytes.count <= limit else { throw .unreadable(path: path, errno: EFBIG) }
            } else if count == 0 {
                return bytes
            } else if errno != EINTR {
                throw .unreadable(path: path, errno: errno)
            }
        }
    }
}
