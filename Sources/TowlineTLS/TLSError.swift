public import Towline

/// Why a connection could not be secured, or did not stay so.
///
/// Prints as one line. Two are equal if their cases and values are.
@nonexhaustive
public indirect enum TLSError: SecurityError, Hashable {
    /// We did not trust the peer's certificate; the failure says why.
    case untrusted(TrustFailure)

    /// One side gave the connection up and said so by an alert.
    case alert(TLSAlert, from: TLSSide)

    /// Both sides speak TLS, and have something in common that they need not enough of.
    case noAgreement(Agreement)

    /// What came first was no TLS; these are its first bytes.
    case notTLS(firstBytes: [UInt8])

    /// The peer broke the rules of TLS; the library's words say which.
    case protocolViolation(String)

    /// The peer ended the connection before it was secure.
    case interrupted

    /// The connection ended without the peer having said that it would, after so many bytes of
    /// plaintext; what came may be a part of what was sent.
    case truncated(bytes: Int)

    /// The handshake was not done in time.
    case timedOut(HandshakeStep)

    /// So many bytes came behind the peer's consent to TLS, in clear; somebody else may have put
    /// them there.
    case unexpectedPlaintext(byteCount: Int)

    /// The peer went beyond a limit.
    case limit(LimitExceeded)

    /// The certificate or the key that we were to use cannot be used.
    case identity(IdentityError)

    /// The configuration asks for what cannot be.
    case configuration(ConfigurationFault)

    /// The library failed in a way that has no case of its own.
    case library(code: UInt, reason: String)

    /// What two sides have to agree on.
    public enum Agreement: Sendable, Hashable {
        /// A version; these were ours.
        case version([TLSVersion])

        /// A cipher suite.
        case cipherSuite

        /// A group for the key exchange.
        case group

        /// An application protocol.
        case applicationProtocol
    }

    /// What a handshake waits for.
    public enum HandshakeStep: Sendable, Hashable {
        /// The peer's first message.
        case hello

        /// The rest of the peer's messages.
        case flight

        /// The program's word whether to trust the peer.
        case trust
    }

    /// What a limit is set to.
    public enum LimitExceeded: Sendable, Hashable {
        /// So many bytes of records in a row brought no data.
        case uselessRecords(byteCount: Int)

        /// A message of the handshake is longer than it may be.
        case messageSize
    }
}

extension TLSError {
    /// Whether it belongs to the handshake, though that may have been over on our side already.
    public var isOfHandshake: Bool {
        switch self {
        case .untrusted, .noAgreement, .notTLS, .interrupted, .timedOut, .unexpectedPlaintext,
            .identity, .configuration:
            true
        case .alert(let alert, from: _): alert.isOfHandshake
        case .protocolViolation, .truncated, .limit, .library: false
        }
    }

    /// The error as one line.
    public var description: String {
        switch self {
        case .untrusted(let failure): failure.description
        case .alert(let alert, from: .peer): "peer sent alert \(alert)\(Self.offer(alert))"
        case .alert(let alert, from: .us): "we sent alert \(alert)\(Self.offer(alert))"
        case .noAgreement(let agreement): Self.text(of: agreement)
        case .notTLS(let bytes): Self.text(ofFirstBytes: bytes)
        case .protocolViolation(let reason): "peer broke the rules of TLS: \(reason)"
        case .interrupted: "peer ended the connection before it was secure"
        case .truncated(let count):
            "connection ended after \(count) bytes without a close_notify; data may be missing"
        case .timedOut(.hello): "handshake timed out waiting for the peer's hello"
        case .timedOut(.flight): "handshake timed out waiting for the rest of the peer's messages"
        case .timedOut(.trust):
            "handshake timed out waiting for the answer whether to trust the peer"
        case .unexpectedPlaintext(let count):
            "peer sent \(count) bytes in clear behind its consent to TLS; they were dropped"
        case .limit(.uselessRecords(let count)): "peer sent \(count) bytes of records without data"
        case .limit(.messageSize): "peer sent a message of the handshake that is too long"
        case .identity(let error): "identity: \(error)"
        case .configuration(let fault): fault.description
        case .library(let code, let reason): "OpenSSL failed: \(reason) (code \(code))"
        }
    }

    /// What we had offered, where the alert may have to do with it: 40 handshake failure, 70
    /// protocol version, 71 insufficient security.
    private static func offer(_ alert: TLSAlert) -> String {
        if alert.lacksIdentity {
            return "; it had asked for a certificate, and we had none to show: set identity"
        }
        guard [40, 70, 71].contains(alert.code), !alert.offered.isEmpty else { return "" }
        return "; we offered \(list(alert.offered))"
    }

    /// `TLS 1.3, 1.2`: the word once.
    private static func list(_ versions: [TLSVersion]) -> String {
        "TLS "
            + versions.map { String($0.description.dropFirst("TLS ".count)) }
            .joined(separator: ", ")
    }

    private static func text(of agreement: Agreement) -> String {
        switch agreement {
        case .version(let versions): "no version of TLS in common; ours: \(list(versions))"
        case .cipherSuite: "no cipher suite in common"
        case .group: "no group for the key exchange in common"
        case .applicationProtocol: "no application protocol in common"
        }
    }

    private static func text(ofFirstBytes bytes: [UInt8]) -> String {
        let kind = PlainProtocol(firstBytes: bytes)
        var text =
            kind == .httpRequest
            ? "peer did not begin with TLS"
            : "peer did not answer with TLS (wrong version number)"
        guard !bytes.isEmpty else { return text }
        text += "; the first bytes look like \"\(printable(bytes.prefix(16)))\""
        if let kind { text += ", which is \(kind.rawValue)" }
        return text
    }

    /// What can be printed of the bytes, up to the end of their line, and dots for the rest.
    private static func printable(_ bytes: ArraySlice<UInt8>) -> String {
        let line = bytes.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        let shown = line.map { byte in
            let isPlain = 0x20..<0x7F ~= byte && byte != UInt8(ascii: "\"")
            return isPlain ? byte : UInt8(ascii: ".")
        }
        return String(decoding: shown, as: UTF8.self)
    }
}

/// What else than TLS people find on a port.
enum PlainProtocol: String {
    case http = "HTTP"
    case httpRequest = "a request of HTTP without TLS"
    case ssh = "SSH"
    case mail = "SMTP or FTP"
    case pop = "POP3"
    case imap = "IMAP"

    /// Guesses by the first bytes; `nil` where they say nothing.
    init?(firstBytes bytes: [UInt8]) {
        let text = String(decoding: bytes.prefix(8), as: UTF8.self)
        let methods = ["GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "CONNECT ", "PRI "]
        if text.hasPrefix("HTTP/") {
            self = .http
        } else if methods.contains(where: { text.hasPrefix($0) }) {
            self = .httpRequest
        } else if text.hasPrefix("SSH-") {
            self = .ssh
        } else if text.hasPrefix("220") {
            self = .mail
        } else if text.hasPrefix("+OK") {
            self = .pop
        } else if text.hasPrefix("* OK") {
            self = .imap
        } else {
            return nil
        }
    }
}
