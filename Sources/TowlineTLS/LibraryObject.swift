internal import COpenSSL

/// An object of the library's that several values refer to and that nobody changes any more.
///
/// It takes over one reference and gives it up in the end.
final class LibraryObject: @unchecked Sendable {
    // Sendable since what is kept in one is only read, which the library allows on all threads.
    let pointer: OpaquePointer
    private let release: @Sendable (OpaquePointer) -> Void

    private init(_ pointer: OpaquePointer, release: @escaping @Sendable (OpaquePointer) -> Void) {
        self.pointer = pointer
        self.release = release
    }

    deinit {
        release(pointer)
    }

    static func certificate(_ pointer: OpaquePointer) -> LibraryObject {
        LibraryObject(pointer) { X509_free($0) }
    }

    static func revocationList(_ pointer: OpaquePointer) -> LibraryObject {
        LibraryObject(pointer) { X509_CRL_free($0) }
    }

    static func key(_ pointer: OpaquePointer) -> LibraryObject {
        LibraryObject(pointer) { EVP_PKEY_free($0) }
    }

    static func store(_ pointer: OpaquePointer) -> LibraryObject {
        LibraryObject(pointer) { X509_STORE_free($0) }
    }
}
