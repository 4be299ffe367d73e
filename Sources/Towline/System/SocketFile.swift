internal import CLinux
internal import Glibc

/// The file that stands for a listener of the Unix domain.
///
/// Source: unix(7), bind(2): a bound path stays behind when its socket has gone, and a new bind to
/// it fails with `EADDRINUSE`.
struct SocketFile {
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// The file that bind(2) has just made; `nil` for an abstract name.
    init?(_ unixPath: UnixPath) {
        guard let path = unixPath.path else { return nil }
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    /// Removes the file, if it is still the same.
    func remove() {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else {
            return
        }
        _ = unlink(path)
    }

    /// Removes the socket of a listener that has died, so that its path can be bound again.
    ///
    /// - Throws: `EADDRINUSE` for anything else that is there: a living listener's socket, or a
    ///   file that is no socket at all.
    static func removeStale(_ unixPath: UnixPath) throws(SystemCallError) {
        guard let path = unixPath.path else { return }
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            let purpose = "where something lies that is no socket"
            throw SystemCallError(call: "bind", errno: EADDRINUSE, purpose: purpose)
        }
        guard try isDead(unixPath) else { throw SystemCallError(call: "bind", errno: EADDRINUSE) }
        _ = unlink(path)
    }

    /// Whether nobody listens: a connect is refused then, and only then.
    private static func isDead(_ path: UnixPath) throws(SystemCallError) -> Bool {
        let flags = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let probe = FileDescriptor(
            owning: try checkedSystemCall("socket") { socket(AF_UNIX, flags, 0) }
        )
        let number = probe.rawValue
        let result = SocketAddress.unix(path).withSocketAddress { connect(number, $0, $1) }
        return result != 0 && errno == ECONNREFUSED
    }
}
