internal import Glibc
internal import Towline

/// Whether the secrets of connections are written down, so that a capture of their packets can be
/// read.
///
/// Source: SSL_CTX_set_keylog_callback(3); the NSS key log format.
@nonexhaustive
public enum KeyLog: Sendable {
    /// They are not.
    case off

    /// They are added to the file that the environment's `SSLKEYLOGFILE` names; without it, they
    /// are not written.
    case environment

    /// They are given to a sink.
    case to(any KeyLogSink)

    /// Where lines go to; `nil` for nowhere.
    func sink() -> (any KeyLogSink)? {
        switch self {
        case .off: nil
        case .environment: KeyLogFile(environmentVariable: "SSLKEYLOGFILE")
        case .to(let sink): sink
        }
    }
}

/// Takes the secrets of connections.
public protocol KeyLogSink: Sendable {
    /// Takes one line, on the thread of the connection that it is about.
    ///
    /// - Parameter line: The line, without a newline behind it.
    func write(_ line: String)
}

/// A file that lines are added to, which only its owner may read.
///
/// Source: open(2), `O_APPEND`.
final class KeyLogFile: KeyLogSink {
    private let descriptor: CInt

    /// Opens the file that a variable of the environment names; `nil` if there is none.
    convenience init?(environmentVariable name: String) {
        guard let path = getenv(name), path.pointee != 0 else { return nil }
        self.init(path: String(cString: path))
    }

    /// Opens a file, or makes it; `nil` if that fails.
    init?(path: String) {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY
        descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else { return nil }
    }

    deinit {
        close(descriptor)
    }

    /// Adds a line by one call, so that those of several processes do not mix.
    func write(_ line: String) {
        let bytes = Array(line.utf8) + [UInt8(ascii: "\n")]
        while Glibc.write(descriptor, bytes, bytes.count) < 0, errno == EINTR {}
    }
}
