internal import Glibc

/// Files that nobody has written before.
public enum NewFile {
    /// Writes a file; if there is one of that name already, a number comes in front of it.
    ///
    /// - Parameters:
    ///   - bytes: What is in it.
    ///   - name: How it is called, without a folder.
    ///   - folder: Where it goes.
    /// - Returns: The path that it got.
    /// - Throws: ``Failure`` if it cannot be written.
    public static func write(
        _ bytes: [UInt8],
        _ name: String,
        in folder: String
    ) throws(Failure) -> String {
        for number in 0..<10_000 {
            let path = "\(folder)/\(number > 0 ? "\(number)-" : "")\(name)"
            let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
            if file < 0, errno == EEXIST { continue }
            guard file >= 0 else { throw Failure("\(path): \(String(cString: strerror(errno)))") }
            defer { close(file) }
            guard Glibc.write(file, bytes, bytes.count) == bytes.count else {
                throw Failure("\(path) could not be written")
            }
            return path
        }
        throw Failure("\(folder) is full of files called \(name)")
    }
}
