internal import Glibc

/// A regular file that is open for reading, to be sent from; any thread may have it.
///
/// It has a descriptor of its own, which is closed when the last copy of the value is let go of and
/// the last write from it has ended.
public struct OpenFile: Sendable {
    private final class Owner: Sendable {
        let descriptor: CInt

        init(_ descriptor: CInt) {
            self.descriptor = descriptor
        }

        deinit {
            _ = close(descriptor)
        }
    }

    private let owner: Owner

    /// Takes ownership of a descriptor.
    init(owning descriptor: CInt) {
        owner = Owner(descriptor)
    }

    /// What the kernel says of the file.
    ///
    /// - Throws: The refused call.
    ///
    /// Source: fstat(2).
    func status() throws(SystemCallError) -> (isRegular: Bool, byteCount: Int) {
        var status = stat()
        guard fstat(owner.descriptor, &status) == 0 else {
            throw SystemCallError(call: "fstat", errno: errno)
        }
        return (status.st_mode & S_IFMT == S_IFREG, Int(status.st_size))
    }

    /// Calls `body` with the descriptor, which is open until it returns.
    func withDescriptor<Result>(_ body: (CInt) -> Result) -> Result {
        withExtendedLifetime(owner) { body(owner.descriptor) }
    }

    /// Reads bytes from a place on.
    ///
    /// - Parameters:
    ///   - buffer: Room for `count` bytes.
    ///   - count: 1 or more.
    ///   - offset: The place, 0 or more.
    /// - Returns: How many were read; a failure with `ENODATA` where the file has ended.
    ///
    /// Source: pread(2).
    package func read(
        into buffer: UnsafeMutableRawPointer,
        count: Int,
        at offset: Int
    ) -> SystemCallResult {
        let result = withDescriptor { descriptor in
            systemCall { pread(descriptor, buffer, count, off_t(offset)) }
        }
        return result.value == 0 ? Self.ended : result
    }

    /// The answer where a file has fewer bytes than it had when the write was asked for.
    static var ended: SystemCallResult { SystemCallResult(value: -1, errno: ENODATA) }

    /// The error of a send from a file.
    package static func error(_ number: CInt) -> SystemCallError {
        let purpose = number == ENODATA ? "sending a file that has become shorter" : nil
        return SystemCallError(call: "sendfile", errno: number, purpose: purpose)
    }
}
