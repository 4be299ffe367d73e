internal import Glibc

/// What is told beside the output.
enum StandardError {
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes {
                Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count)
            }
            // Nobody can be told that nobody can be told.
            guard count > 0 || errno == EINTR else { return }
            offset += max(0, count)
        }
    }
}
