internal import COpenSSL

/// An entry of the library's error queue.
struct LibraryError: Hashable {
    let code: UInt
    let library: CInt
    let reason: CInt

    /// The library's words, such as `bad decrypt`.
    let words: String

    /// What the library added, such as the name of an algorithm.
    let detail: String
}

/// The library's error queue, of which each thread has one, shared by all that the thread does.
///
/// It is emptied before each call whose result is read from it, and again behind it: an entry left
/// behind would be taken for a failure of whoever calls next.
enum LibraryErrors {
    /// Drops whatever is there.
    ///
    /// The library frees all that its queue could hold, whether there is anything or not, which
    /// costs ten times what a look does.
    @inline(__always)
    static func clear() {
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    /// Takes all entries, the oldest first.
    static func take() -> [LibraryError] {
        var entries: [LibraryError] = []
        while true {
            var detail: UnsafePointer<CChar>?
            var flags: CInt = 0
            let code = ERR_get_error_all(nil, nil, nil, &detail, &flags)
            guard code != 0 else { return entries }
            let isText = flags & ERR_TXT_STRING != 0
            entries.append(
                LibraryError(
                    code: UInt(code),
                    library: towline_ERR_GET_LIB(code),
                    reason: towline_ERR_GET_REASON(code),
                    words: ERR_reason_error_string(code).map { String(cString: $0) } ?? "",
                    // The text lies in the queue's own memory until its place is used again.
                    detail: isText ? detail.map { String(cString: $0) } ?? "" : ""
                )
            )
        }
    }
}
