/// Something of the library's, and the bytes that it was read from; equal if the bytes are.
struct DERValue: Sendable, Hashable {
    let object: LibraryObject
    let der: [UInt8]

    init(object: LibraryObject, der: [UInt8]) {
        self.object = object
        self.der = der
    }

    /// Reads bytes that have to be one value and nothing behind it.
    ///
    /// - Parameters:
    ///   - der: The bytes.
    ///   - read: The library's function, which moves the pointer behind what it has read.
    ///   - own: Takes over what that returns.
    /// - Throws: ``IdentityError/malformed(_:offset:)``.
    init(
        _ der: [UInt8],
        _ read: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?,
        _ own: (OpaquePointer) -> LibraryObject
    ) throws(IdentityError) {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        let object = der.withUnsafeBufferPointer { bytes -> LibraryObject? in
            var next = bytes.baseAddress
            guard let object = read(&next, bytes.count).map(own) else { return nil }
            return next == bytes.baseAddress.map { $0 + bytes.count } ? object : nil
        }
        guard let object else { throw .malformed(.der, offset: DERWalk.firstFault(in: der)) }
        self.init(object: object, der: der)
    }

    /// Calls `body` with the library's value, which lives for as long as the call, and which nobody
    /// may change.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(object) { body(object.pointer) }
    }

    static func == (one: DERValue, other: DERValue) -> Bool { one.der == other.der }

    func hash(into hasher: inout Hasher) { hasher.combine(der) }
}
