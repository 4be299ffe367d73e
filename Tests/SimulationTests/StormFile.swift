import Glibc

@testable import Towline

/// A file whose parts storms send; it has no name, and goes with the process.
enum StormFile {
    static let byteCount = 50_000

    static let shared: OpenFile = {
        var template = Array("/tmp/towline-storm-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        precondition(descriptor >= 0, "a file could not be made: errno \(errno)")
        unlink(template)
        let content = bytes(0..<byteCount)
        precondition(write(descriptor, content, content.count) == content.count)
        return OpenFile(owning: descriptor)
    }()

    static func bytes(_ range: Range<Int>) -> [UInt8] {
        range.map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 8 &+ 5) }
    }
}
