internal import Glibc
internal import Towline

/// A file that is being written under another name in the folder of its own, and goes away unless
/// it is finished.
final class DownloadFile {
    private static let randomDigits = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
    /// So many bytes of the name stand in the temporary one, which must not be too long.
    private static let nameLimit = 180

    private let path: String
    private let temporaryPath: String
    private var descriptor: CInt

    /// How many bytes it has.
    private(set) var byteCount: UInt64 = 0

    /// Creates it.
    ///
    /// - Parameter path: What it is called when it is finished.
    /// - Throws: ``HTTPError/unwritableFile(_:)``.
    init(path: String) throws(HTTPError) {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) }
        let folder = path[..<(end ?? path.startIndex)]
        let name = path[(end ?? path.startIndex)...]
        guard !name.isEmpty, !path.utf8.contains(0) else {
            throw .unwritableFile(SystemCallError(call: "open", errno: EISDIR, purpose: path))
        }
        let beginning = String(decoding: name.utf8.prefix(Self.nameLimit), as: UTF8.self)
        var attempts = 0
        while true {
            let temporaryPath = "\(folder).\(beginning).\(Self.randomName()).part"
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
            let descriptor = open(temporaryPath, flags, 0o666)
            attempts += 1
            if descriptor >= 0 {
                self.path = path
                self.temporaryPath = temporaryPath
                self.descriptor = descriptor
                return
            }
            guard errno == EINTR || errno == EEXIST, attempts < 100 else {
                throw Self.failure("open", path)
            }
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        close(descriptor)
        unlink(temporaryPath)
    }

    /// Writes bytes behind the others.
    func write(_ bytes: [UInt8]) throws(HTTPError) {
        var offset = 0
        while offset < bytes.count {
            let written = bytes[offset...].withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if written >= 0 {
                offset += written
                byteCount += UInt64(written)
            } else if errno != EINTR {
                throw Self.failure("write", path)
            }
        }
    }

    /// Begins again.
    func removeAll() throws(HTTPError) {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw Self.failure("ftruncate", path)
        }
        byteCount = 0
    }

    /// Gives it its name, in the place of a file that may have that.
    func finish() throws(HTTPError) {
        let closing = descriptor
        descriptor = -1
        guard close(closing) == 0 || errno == EINTR else {
            let error = Self.failure("close", path)
            unlink(temporaryPath)
            throw error
        }
        guard rename(temporaryPath, path) == 0 else {
            let error = Self.failure("rename", path)
            unlink(temporaryPath)
            throw error
        }
    }

    private static func failure(_ call: String, _ path: String) -> HTTPError {
        .unwritableFile(SystemCallError(call: call, errno: errno, purpose: "write \(path)"))
    }

    private static func randomName() -> String {
        let digits = (0..<12).map { _ in randomDigits[Int.random(in: 0..<randomDigits.count)] }
        return String(decoding: digits, as: UTF8.self)
    }
}
