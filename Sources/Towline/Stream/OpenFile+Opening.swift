internal import Glibc

extension OpenFile {
    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: Where it is.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/system(_:)`` if it cannot be opened;
    ///   ``SocketError/invalidArgument(_:)`` if it is no regular file.
    ///
    /// Source: open(2).
    public init(
        path: String,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        // Without waiting: the other end of a pipe may never be opened.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK
        let result = systemCall { Int(open(path, flags)) }
        guard result.isSuccess else {
            let purpose = "open \(path)"
            throw .system(SystemCallError(call: "open", errno: result.errno, purpose: purpose))
        }
        self.init(owning: CInt(result.value))
        try checkKind("OpenFile(path: \(path))", file, line)
    }

    /// Takes a duplicate of a descriptor, which stays the caller's.
    ///
    /// The place in the file that reads of the descriptor go on from is neither used nor changed.
    ///
    /// - Parameters:
    ///   - descriptor: A regular file, open for reading.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/system(_:)`` if it cannot be duplicated;
    ///   ``SocketError/invalidArgument(_:)`` if it is no regular file, or not open for reading.
    ///
    /// Source: fcntl(2), `F_DUPFD_CLOEXEC`.
    public init(
        duplicating descriptor: CInt,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let call = "OpenFile(duplicating: \(descriptor))"
        let mode = fcntl(descriptor, F_GETFL)
        guard mode >= 0 else { throw .system(SystemCallError(call: "fcntl", errno: errno)) }
        guard mode & O_ACCMODE != O_WRONLY else {
            throw .invalidArgument(InvalidArgument(call, "must be open for reading", file, line))
        }
        let result = systemCall { Int(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) }
        guard result.isSuccess else {
            throw .system(SystemCallError(call: "fcntl", errno: result.errno))
        }
        self.init(owning: CInt(result.value))
        try checkKind(call, file, line)
    }

    /// How many bytes the file has now.
    ///
    /// - Returns: The number.
    /// - Throws: ``SocketError/system(_:)``.
    public func byteCount() throws(SocketError) -> Int { try statusForCall().byteCount }

    private func checkKind(
        _ call: String,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) {
        guard try statusForCall().isRegular else {
            throw .invalidArgument(InvalidArgument(call, "must be a regular file", file, line))
        }
    }

    private func statusForCall() throws(SocketError) -> (isRegular: Bool, byteCount: Int) {
        do {
            return try status()
        } catch {
            throw .system(error)
        }
    }
}
