internal import COpenSSL
internal import Towline

extension Certificate {
    /// Whose certificate this is, such as `O=Test, CN=a.test`.
    public var subject: String {
        withPointer { Self.text(of: X509_get_subject_name($0)) }
    }

    /// Who has issued it, such as `O=Test, CN=Test CA`.
    public var issuer: String {
        withPointer { Self.text(of: X509_get_issuer_name($0)) }
    }

    /// The number that its issuer has given it, in hexadecimal digits.
    public var serialNumber: String {
        let bytes = withPointer { Self.bytes(of: X509_get0_serialNumber($0)) }
        return Self.hexadecimal(bytes)
    }

    /// From when on it is valid; `nil` where that cannot be read.
    public var notBefore: UnixTime? {
        withPointer { UnixTime(X509_get0_notBefore($0)) }
    }

    /// Until when it is valid; `nil` where that cannot be read.
    public var notAfter: UnixTime? {
        withPointer { UnixTime(X509_get0_notAfter($0)) }
    }

    /// The host names that it is made out to, wildcards included, as they stand in it.
    public var hostNames: [String] {
        generalNames(ofKind: GEN_DNS).map { OneLine.text(String(decoding: $0, as: UTF8.self)) }
    }

    /// The addresses that it is made out to.
    public var addresses: [String] {
        generalNames(ofKind: GEN_IPADD).compactMap { IPv4Address.text(of: $0) }
    }

    /// The SHA-256 of its public key.
    public var publicKeyPin: PublicKeyPin {
        let bytes = withPointer { certificate in
            Self.encoding { i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), $0) }
        }
        guard let pin = PublicKeyPin(sha256: Self.sha256(bytes)) else {
            preconditionFailure("a SHA-256 has 32 bytes")
        }
        return pin
    }

    /// The SHA-256 of its bytes, 32 bytes.
    public var fingerprint: [UInt8] { Self.sha256(der) }

    /// What kind of key it has.
    public var keyType: KeyType {
        withPointer { certificate in
            guard let key = X509_get0_pubkey(certificate) else { return .other("unknown") }
            return KeyType(of: key)
        }
    }

    /// How long its key is; 0 where the library cannot read it.
    public var keyBits: Int {
        withPointer { certificate in
            X509_get0_pubkey(certificate).map { max(0, Int(EVP_PKEY_get_bits($0))) } ?? 0
        }
    }

    /// The title and the issuer, in one line.
    public var description: String { "certificate of \(title), issued by \(issuer)" }

    /// What to call it: its first name or address, or else its common name in quotes.
    var title: String {
        names.first { !$0.isEmpty }
            ?? withPointer {
                "\"\(Self.shortText(of: X509_get_subject_name($0)))\""
            }
    }

    /// Its issuer's common name, or all of the name without one.
    var issuerTitle: String {
        withPointer { Self.shortText(of: X509_get_issuer_name($0)) }
    }

    /// Whether it says that it has issued itself, so that its signature proves nothing.
    var isSelfIssued: Bool {
        withPointer { X509_get_extension_flags($0) & UInt32(EXFLAG_SS) != 0 }
    }

    /// Whether the library makes anything of its key.
    var hasReadableKey: Bool {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        return withPointer { X509_get0_pubkey($0) != nil }
    }

    /// What its issuer's signature is worth, in bits.
    var signatureSecurityBits: CInt {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        return withPointer { certificate in
            var bits: CInt = 0
            return X509_get_signature_info(certificate, nil, nil, &bits, nil) == 1 ? bits : 0
        }
    }

    /// All that it is made out to.
    var names: [String] { hostNames + addresses }

    private func generalNames(ofKind kind: CInt) -> [[UInt8]] {
        withPointer { certificate in
            guard let names = towline_X509_subject_alternative_names(certificate) else { return [] }
            defer { GENERAL_NAMES_free(names) }
            return (0..<towline_sk_GENERAL_NAME_num(names)).compactMap { index in
                var found: CInt = -1
                let name = towline_sk_GENERAL_NAME_value(names, index)
                guard let value = GENERAL_NAME_get0_value(name, &found), found == kind else {
                    return nil
                }
                return Self.bytes(of: value.assumingMemoryBound(to: ASN1_STRING.self))
            }
        }
    }
}

extension Certificate {
    /// The kinds of keys.
    @nonexhaustive
    public enum KeyType: Sendable, Hashable, CustomStringConvertible {
        /// RSA.
        case rsa

        /// RSA for signatures of one kind only.
        case rsaPSS

        /// An elliptic curve of this name.
        case ellipticCurve(String)

        /// Ed25519.
        case ed25519

        /// Ed448.
        case ed448

        /// Another, by the library's name for it.
        case other(String)

        init(of key: OpaquePointer) {
            let name = EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "unknown"
            switch name {
            case "RSA": self = .rsa
            case "RSA-PSS": self = .rsaPSS
            case "EC": self = .ellipticCurve(Self.curve(of: key))
            case "ED25519": self = .ed25519
            case "ED448": self = .ed448
            default: self = .other(name)
            }
        }

        /// The kind in a word.
        public var description: String {
            switch self {
            case .rsa: "RSA"
            case .rsaPSS: "RSA-PSS"
            case .ellipticCurve(let curve): curve
            case .ed25519: "Ed25519"
            case .ed448: "Ed448"
            case .other(let name): name
            }
        }

        private static func curve(of key: OpaquePointer) -> String {
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 80) { buffer in
                var count = 0
                let result = EVP_PKEY_get_group_name(key, buffer.baseAddress, buffer.count, &count)
                guard result == 1, let text = buffer.baseAddress else { return "unknown curve" }
                return String(cString: text)
            }
        }
    }
}

extension Certificate {
    /// A name in one line.
    static func text(of name: OpaquePointer?) -> String {
        guard let name, let output = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(output) }
        // Letters beyond ASCII stay as they are; what would end a line is escaped.
        let flags =
            towline_XN_FLAG_ONELINE & ~towline_ASN1_STRFLGS_ESC_MSB & ~towline_XN_FLAG_SPC_EQ
        guard X509_NAME_print_ex(output, name, 0, flags) >= 0 else { return "" }
        var bytes: UnsafeMutablePointer<CChar>?
        let count = towline_BIO_get_mem_data(output, &bytes)
        guard count > 0, let bytes else { return "" }
        // The text lies in the BIO, which is freed behind this.
        let text = UnsafeRawBufferPointer(start: bytes, count: count)
        return OneLine.text(String(decoding: text, as: UTF8.self))
    }

    /// The common name, or all of the name without one.
    static func shortText(of name: OpaquePointer?) -> String {
        let place = X509_NAME_get_index_by_NID(name, NID_commonName, -1)
        guard place >= 0, let entry = X509_NAME_get_entry(name, place) else {
            return text(of: name)
        }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(entry))
        defer { towline_OPENSSL_free(bytes) }
        guard count > 0, let bytes else { return text(of: name) }
        let buffer = UnsafeBufferPointer(start: bytes, count: Int(count))
        return OneLine.text(String(decoding: buffer, as: UTF8.self))
    }

    /// The bytes of a string of the library's.
    static func bytes(of string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
        guard let string, let bytes = ASN1_STRING_get0_data(string) else { return [] }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(ASN1_STRING_length(string))))
    }

    /// What a function of the library's writes, which allocates the bytes.
    static func encoding(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> CInt
    ) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = body(&bytes)
        defer { towline_OPENSSL_free(bytes) }
        guard count > 0, let bytes else { return [] }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        _ = SHA256(bytes, bytes.count, &digest)
        return digest
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension UnixTime {
    /// Reads a time of the library's.
    init?(_ time: UnsafePointer<ASN1_STRING>?) {
        var seconds: Int64 = 0
        guard towline_ASN1_TIME_seconds(time, &seconds) == 1 else { return nil }
        self.init(seconds: seconds)
    }
}

extension IPv4Address {
    /// The text of four or sixteen bytes; `nil` for another number.
    static func text(of bytes: [UInt8]) -> String? {
        switch bytes.count {
        case 4: IPv4Address(rawValue: bytes.reduce(0) { $0 << 8 | UInt32($1) }).description
        case 16: IPv6Address(networkBytes: bytes).description
        default: nil
        }
    }
}
