internal import Glibc

/// Files that options name, read whole before anything is sent.
struct ByteFiles: Sendable {
    /// The bytes of a file; `-` is standard input.
    func read(_ path: String) throws(UsageError) -> [UInt8] {
        guard path != "-" else { return try Self.read(descriptor: STDIN_FILENO, path) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(path) }
        defer { close(descriptor) }
        return try Self.read(descriptor: descriptor, path)
    }

    private static func read(descriptor: CInt, _ path: String) throws(UsageError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure(path) }
            bytes += chunk.prefix(count)
        }
    }

    private static func failure(_ path: String) -> UsageError {
        let reason = String(cString: strerror(errno))
        return UsageError("Failed to open \(path): \(reason)", code: .read)
    }
}
