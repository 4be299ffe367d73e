internal import COpenSSL

/// A password's bytes, in memory that is wiped when nobody needs it any more.
final class Password {
    private let memory: UnsafeMutableBufferPointer<CChar>

    /// The UTF-8 of the text, which itself stays its owner's.
    init(_ text: String) {
        let bytes = text.utf8
        memory = .allocate(capacity: bytes.count + 1)
        _ = memory.initialize(from: bytes.lazy.map { CChar(bitPattern: $0) } + [0])
    }

    deinit {
        Wiping.wipe(UnsafeMutableRawBufferPointer(memory))
        memory.deallocate()
    }

    /// How many bytes there are, without the zero behind them.
    var count: Int { memory.count - 1 }

    /// The bytes with a zero behind them, for as long as this lives.
    var bytes: UnsafePointer<CChar>? { UnsafePointer(memory.baseAddress) }

    /// Copies the bytes to where the library wants them; -1 if they do not fit.
    func copy(to buffer: UnsafeMutablePointer<CChar>?, capacity: Int) -> CInt {
        guard let buffer, count <= capacity, let bytes else { return -1 }
        buffer.update(from: bytes, count: count)
        return CInt(count)
    }

    /// Hands the library the password that it asks for.
    ///
    /// Without it, the library would read the terminal.
    ///
    /// Source: pem_password_cb(3).
    static let callback:
        @convention(c) (
            UnsafeMutablePointer<CChar>?, CInt, CInt, UnsafeMutableRawPointer?
        ) -> CInt = { buffer, capacity, _, password in
            guard let password else { return -1 }
            // Whoever calls the library keeps the password alive until it returns.
            return Unmanaged<Password>.fromOpaque(password).takeUnretainedValue()
                .copy(to: buffer, capacity: Int(capacity))
        }
}
