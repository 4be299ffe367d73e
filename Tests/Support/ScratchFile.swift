internal import Glibc
internal import Towline

/// A file of a test's own, gone with the value.
public final class ScratchFile {
    /// Where it is.
    public let path: String

    /// Makes a file.
    ///
    /// - Parameters:
    ///   - bytes: What it begins with.
    ///   - byteCount: How long it is made, with a hole behind the bytes; `nil`, no longer.
    /// - Throws: `SystemCallError` with the call that failed.
    public init(_ bytes: [UInt8] = [], byteCount: Int? = nil) throws {
        var template = Array("/tmp/towline-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        try Self.check("mkstemp", descriptor)
        defer { close(descriptor) }
        try write(bytes, at: 0)
        if let byteCount { try truncate(to: byteCount) }
    }

    deinit { unlink(path) }

    /// Writes bytes at a place.
    ///
    /// - Throws: `SystemCallError` with the call that failed.
    public func write(_ bytes: [UInt8], at offset: Int) throws {
        let descriptor = open(path, O_WRONLY)
        try Self.check("open", descriptor)
        defer { close(descriptor) }
        let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, offset) }
        try Self.check("pwrite", count == bytes.count ? 0 : -1)
    }

    /// Makes the file so long.
    ///
    /// - Throws: `SystemCallError` with the call that failed.
    public func truncate(to byteCount: Int) throws {
        try Self.check("truncate", Glibc.truncate(path, byteCount))
    }

    private static func check(_ call: String, _ result: CInt) throws {
        if result < 0 { throw SystemCallError(call: call, errno: errno) }
    }
}
