internal import Glibc

/// A command line that cannot be followed.
struct UsageError: Error {
    let description: String
    let usage: String

    init(_ description: String, usage: String) {
        self.description = description
        self.usage = usage
    }
}

/// A benchmark that has no result, in a sentence.
struct RunFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// A call that the kernel refused.
    init(_ call: String, errno: CInt) {
        self.init("\(call) failed: \(String(cString: strerror(errno)))")
    }
}
