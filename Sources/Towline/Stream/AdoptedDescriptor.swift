internal import CLinux
internal import Glibc

/// A descriptor that somebody brings: looked at, and left as it was unless it is taken over.
struct AdoptedDescriptor {
    /// What prepare() has changed.
    struct Flags {
        let status: CInt
        let descriptor: CInt
    }

    private let number: CInt
    private let call: String
    private let file: StaticString
    private let line: UInt

    /// Checks that it is an open stream socket.
    ///
    /// - Throws: ``SocketError/invalidArgument(_:)``.
    init(
        _ number: CInt,
        _ call: String,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) {
        self.number = number
        self.call = call
        self.file = file
        self.line = line
        var type: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        let answer = getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &length)
        if answer != 0, errno == EBADF { throw invalid("must be open") }
        guard answer == 0, type == CInt(SOCK_STREAM.rawValue) else {
            throw invalid("must be a stream socket")
        }
    }

    func invalid(_ reason: String) -> SocketError {
        .invalidArgument(InvalidArgument(call, reason, file, line))
    }

    /// Whether connections can be accepted from it.
    var isListening: Bool {
        var value: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value != 0
    }

    /// Its own address.
    func localAddress() throws(SocketError) -> SocketAddress {
        try address("must be bound") { getsockname(number, $0, $1) }
    }

    /// Its peer's address.
    func peerAddress() throws(SocketError) -> SocketAddress {
        try address("must be connected") { getpeername(number, $0, $1) }
    }

    private func address(
        _ reason: String,
        _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
    ) throws(SocketError) -> SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            // `sockaddr_storage` begins like `sockaddr` and has room for each kind.
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        guard result == 0 else { throw invalid(reason) }
        guard let address = SocketAddress(&storage, length: length) else {
            throw invalid("must be of the IPv4, IPv6 or Unix family")
        }
        return address
    }

    /// Makes it non-blocking and close-on-exec.
    ///
    /// - Returns: What it was before.
    func prepare() throws(SocketError) -> Flags {
        let flags = Flags(status: fcntl(number, F_GETFL), descriptor: fcntl(number, F_GETFD))
        guard flags.status >= 0, flags.descriptor >= 0,
            fcntl(number, F_SETFL, flags.status | O_NONBLOCK) >= 0,
            fcntl(number, F_SETFD, flags.descriptor | FD_CLOEXEC) >= 0
        else {
            let error = SystemCallError(call: "fcntl", errno: errno)
            restore(flags)
            throw .system(error)
        }
        return flags
    }

    /// Gives it back as it came.
    func restore(_ flags: Flags) {
        if flags.status >= 0 { _ = fcntl(number, F_SETFL, flags.status) }
        if flags.descriptor >= 0 { _ = fcntl(number, F_SETFD, flags.descriptor) }
    }
}
