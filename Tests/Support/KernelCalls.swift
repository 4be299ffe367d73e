internal import CLinux
internal import Glibc
internal import Towline

/// Passes a call's answer on, or throws what it left in `errno`.
@discardableResult
func check<Number: SignedInteger>(_ call: String, _ result: Number) throws -> Number {
    guard result >= 0 else { throw SystemCallError(call: call, errno: errno) }
    return result
}

extension CInt {
    /// Sets an option of this descriptor; the tests use none that the kernel refuses.
    func setOption<Value: BitwiseCopyable>(_ option: CInt, to value: inout Value) {
        let result = setsockopt(
            self,
            SOL_SOCKET,
            option,
            &value,
            socklen_t(MemoryLayout<Value>.size)
        )
        precondition(result == 0, "option \(option) was refused: errno \(errno)")
    }

    /// Limits how long a receive and a send may wait; they fail with `EAGAIN` then.
    func setTimeouts(to timeout: Duration) {
        let (seconds, attoseconds) = timeout.components
        var time = timeval(
            tv_sec: Int(seconds),
            tv_usec: suseconds_t(attoseconds / 1_000_000_000_000)
        )
        setOption(SO_RCVTIMEO, to: &time)
        setOption(SO_SNDTIMEO, to: &time)
    }

    func setBufferSizes(to byteCount: CInt) {
        var byteCount = byteCount
        setOption(SO_SNDBUF, to: &byteCount)
        setOption(SO_RCVBUF, to: &byteCount)
    }
}

extension SocketAddress {
    /// A new blocking stream descriptor of the address's family.
    func makeStreamDescriptor() throws -> CInt {
        let family =
            switch self {
            case .ipv4: AF_INET
            case .ipv6: AF_INET6
            case .unix: AF_UNIX
            }
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        return try check("socket", socket(family, type, 0))
    }

    /// Lends the address as the kernel wants it, made from its text by the C library, so that a
    /// mistake of the package's own conversion shows.
    func withKernelForm<Result>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var storage = sockaddr_storage()
        let length = withUnsafeMutableBytes(of: &storage) { fill($0) }
        return withUnsafePointer(to: &storage) {
            // `sockaddr_storage` begins like `sockaddr` and has room for each kind.
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
        }
    }

    private func fill(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
        switch self {
        case .ipv4(let address, let port):
            var value = sockaddr_in()
            value.sin_family = sa_family_t(AF_INET)
            value.sin_port = port.bigEndian
            inet_pton(AF_INET, address.description, &value.sin_addr)
            bytes.storeBytes(of: value, as: sockaddr_in.self)
            return MemoryLayout<sockaddr_in>.size
        case .ipv6(let address, let port, let scopeID):
            var value = sockaddr_in6()
            value.sin6_family = sa_family_t(AF_INET6)
            value.sin6_port = port.bigEndian
            value.sin6_scope_id = scopeID
            inet_pton(AF_INET6, address.description, &value.sin6_addr)
            bytes.storeBytes(of: value, as: sockaddr_in6.self)
            return MemoryLayout<sockaddr_in6>.size
        case .unix(let path):
            bytes.storeBytes(of: sa_family_t(AF_UNIX), as: sa_family_t.self)
            let start = MemoryLayout<sa_family_t>.size
            var name = Array(path.description.utf8)
            // An abstract name begins with a zero and ends with its length, a path with a zero.
            if path.isAbstract { name[0] = 0 } else { name.append(0) }
            for (offset, byte) in name.enumerated() { bytes[start + offset] = byte }
            return start + name.count
        }
    }

    /// Reads what getsockname(2) answers; `nil` if it refuses.
    init?(_ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            // As above.
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        guard result == 0 else { return nil }
        self.init(Self.text(of: &storage, length: Int(length)))
    }

    private static func text(of storage: inout sockaddr_storage, length: Int) -> String {
        withUnsafeBytes(of: &storage) { bytes in
            switch CInt(bytes.loadUnaligned(as: sa_family_t.self)) {
            case AF_INET:
                var value = bytes.loadUnaligned(as: sockaddr_in.self)
                let port = UInt16(bigEndian: value.sin_port)
                return "\(numericText(AF_INET, &value.sin_addr)):\(port)"
            case AF_INET6:
                var value = bytes.loadUnaligned(as: sockaddr_in6.self)
                let port = UInt16(bigEndian: value.sin6_port)
                let scope = value.sin6_scope_id == 0 ? "" : "%\(value.sin6_scope_id)"
                return "[\(numericText(AF_INET6, &value.sin6_addr))\(scope)]:\(port)"
            default:
                let name = bytes[MemoryLayout<sa_family_t>.size..<length]
                guard name.first == 0 else {
                    return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
                }
                return "@" + String(decoding: name.dropFirst(), as: UTF8.self)
            }
        }
    }

    private static func numericText(_ family: CInt, _ address: UnsafeRawPointer) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) {
            // The buffer has the size that inet_ntop(3) asks for, so the call cannot fail.
            _ = inet_ntop(family, address, $0.baseAddress, socklen_t($0.count))
            return String(cString: $0.baseAddress!)
        }
    }
}
