internal import COpenSSL
internal import Glibc

/// The certificates that the system trusts, as a store of the library's.
struct SystemRoots: Sendable {
    /// What the process's environment says, read when they are first needed, once for all.
    static let shared = SystemRoots(
        file: getenv("SSL_CERT_FILE").map { String(cString: $0) },
        directory: getenv("SSL_CERT_DIR").map { String(cString: $0) }
    )

    /// What everybody shares, and nobody adds anything to.
    let store: LibraryObject

    /// How many there are.
    let count: Int

    /// Each place that was looked at, and what came of it.
    let lookedIn: [String]

    /// Reads what one of the two variables says, or else the first of the usual files with any
    /// certificates, or else the usual directories.
    ///
    /// - Parameters:
    ///   - file: What `SSL_CERT_FILE` is set to.
    ///   - directory: What `SSL_CERT_DIR` is set to: directories with colons between them.
    ///   - usualFiles: Where to look without either.
    ///   - usualDirectories: Where to look if none of those has anything.
    init(
        file: String?,
        directory: String?,
        usualFiles: [String] = Self.usualFiles,
        usualDirectories: [String] = Self.usualDirectories
    ) {
        var reader = Reader()
        let (fileVariable, directoryVariable) = ("SSL_CERT_FILE", "SSL_CERT_DIR")
        let directories = directory?.split(separator: ":").map(String.init)
        if let file { _ = reader.read(file: file, saidBy: fileVariable) }
        if file == nil { reader.noteUnset(fileVariable) }
        directories?.forEach { reader.read(directory: $0, saidBy: directoryVariable) }
        if directory == nil { reader.noteUnset(directoryVariable) }
        // What they say is all that counts.
        if file == nil, directory == nil,
            !usualFiles.contains(where: { reader.read(file: $0) })
        {
            usualDirectories.forEach { reader.read(directory: $0) }
        }
        store = reader.store
        count = reader.count
        lookedIn = reader.lookedIn
    }

    /// Where distributions keep all in one file; the library's own place first.
    static let usualFiles = [
        String(cString: X509_get_default_cert_file()),
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/pki/tls/cacert.pem",
        "/etc/ssl/cert.pem",
        "/usr/local/share/certs/ca-root-nss.crt",
    ]

    /// Where distributions keep each in a file of its own; the library's own place first.
    static let usualDirectories = [
        String(cString: X509_get_default_cert_dir()),
        "/etc/ssl/certs",
        "/etc/pki/tls/certs",
        "/system/etc/security/cacerts",
    ]

    /// Reads files into a store.
    private struct Reader {
        let store: LibraryObject
        var lookedIn: [String] = []

        init() {
            guard let pointer = X509_STORE_new() else {
                preconditionFailure("there is memory for an empty store")
            }
            store = .store(pointer)
        }

        var count: Int {
            Int(towline_sk_X509_OBJECT_num(X509_STORE_get0_objects(store.pointer)))
        }

        mutating func noteUnset(_ variable: String) {
            lookedIn.append("\(variable) (unset)")
        }

        /// Adds what is in a file, and says whether there was anything.
        mutating func read(file path: String, saidBy variable: String? = nil) -> Bool {
            if access(path, R_OK) != 0 {
                note(path, variable, reason: Self.words(of: errno))
                return false
            }
            let before = count
            add(file: path)
            note(path, variable, reason: Self.words(for: count - before))
            return count > before
        }

        mutating func read(directory path: String, saidBy variable: String? = nil) {
            guard let directory = opendir(path) else {
                return note(path, variable, reason: Self.words(of: errno))
            }
            defer { closedir(directory) }
            let before = count
            while let entry = readdir(directory) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    // The field is larger than any name, and the name ends with a zero byte.
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if Self.isCertificate(name) { add(file: "\(path)/\(name)") }
            }
            note(path, variable, reason: Self.words(for: count - before))
        }

        private func add(file path: String) {
            LibraryErrors.clear()
            defer { LibraryErrors.clear() }
            guard let lookup = X509_STORE_add_lookup(store.pointer, X509_LOOKUP_file()) else {
                return
            }
            // What cannot be read is passed over; what was read before it stays.
            _ = X509_load_cert_crl_file(lookup, path, X509_FILETYPE_PEM)
        }

        private mutating func note(_ path: String, _ variable: String?, reason: String) {
            let prefix = variable.map { "\($0)=" } ?? ""
            lookedIn.append("\(prefix)\(OneLine.text(path)) (\(reason))")
        }

        /// Files in such directories are named by their form, or by a hash and a number.
        private static func isCertificate(_ name: String) -> Bool {
            [".pem", ".crt", ".cer"].contains(where: { name.hasSuffix($0) })
                || isHashed(name)
        }

        /// Eight hexadecimal digits, a dot and a number.
        ///
        /// Source: openssl-rehash(1).
        private static func isHashed(_ name: String) -> Bool {
            let name = Array(name.utf8)
            guard name.count > 9, name[8] == UInt8(ascii: ".") else { return false }
            let isHash = name[..<8].allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
            return isHash && name[9...].allSatisfy { (48...57).contains($0) }
        }

        private static func words(of number: CInt) -> String {
            switch number {
            case ENOENT: "not there"
            default: String(cString: strerror(number))
            }
        }

        private static func words(for count: Int) -> String {
            count == 0 ? "no further certificate in it" : "\(count) certificates"
        }
    }
}
