import Testing
import Towline
import TowlineTLS

@Suite("TLS errors") struct TLSErrorTests {
    @Test("E7, TH1: each error prints as one line that a person can act on")
    func texts() {
        let texts: [(TLSError, String)] = [
            (
                .notTLS(firstBytes: Array("220 mail.test ESMTP\r\n".utf8)),
                "peer did not answer with TLS (wrong version number); the first bytes look like "
                    + "\"220 mail.test ES\", which is SMTP or FTP"
            ),
            (
                .notTLS(firstBytes: Array("HTTP/1.1 400 Bad".utf8)),
                "peer did not answer with TLS (wrong version number); the first bytes look like "
                    + "\"HTTP/1.1 400 Bad\", which is HTTP"
            ),
            (
                .notTLS(firstBytes: Array("GET / HTTP/1.1\r\n".utf8)),
                "peer did not begin with TLS; the first bytes look like \"GET / HTTP/1.1\", "
                    + "which is a request of HTTP without TLS"
            ),
            (.notTLS(firstBytes: []), "peer did not answer with TLS (wrong version number)"),
            (
                .notTLS(firstBytes: [0, 34, 200, 65, 10, 66]),
                "peer did not answer with TLS (wrong version number); the first bytes look like "
                    + "\"...A\""
            ),
            (
                .alert(TLSAlert(code: 40, offered: [.tls13, .tls12]), from: .peer),
                "peer sent alert 40 handshake failure; we offered TLS 1.3, 1.2"
            ),
            (.alert(.certificateRequired, from: .peer), "peer sent alert 116 certificate required"),
            (.alert(TLSAlert(code: 200), from: .us), "we sent alert 200"),
            (
                .noAgreement(.version([.tls13])),
                "no version of TLS in common; ours: TLS 1.3"
            ),
            (.noAgreement(.applicationProtocol), "no application protocol in common"),
            (.interrupted, "peer ended the connection before it was secure"),
            (
                .truncated(bytes: 12),
                "connection ended after 12 bytes without a close_notify; data may be missing"
            ),
            (.timedOut(.hello), "handshake timed out waiting for the peer's hello"),
            (
                .timedOut(.flight),
                "handshake timed out waiting for the rest of the peer's messages"
            ),
            (
                .timedOut(.trust),
                "handshake timed out waiting for the answer whether to trust the peer"
            ),
            (
                .unexpectedPlaintext(byteCount: 9),
                "peer sent 9 bytes in clear behind its consent to TLS; they were dropped"
            ),
            (.identity(.wrongPassword), "identity: the password is wrong"),
            (
                .configuration(.invalidPeerName("a\nb\0")),
                "\"a\\u{a}b\\u{0}\" is neither a host name nor an address"
            ),
            (
                .configuration(
                    .noTrustedRoots(lookedIn: ["SSL_CERT_FILE (unset)", "/a (not there)"])
                ),
                "no trusted roots found. Looked in: SSL_CERT_FILE (unset), /a (not there)"
            ),
            (
                .library(code: 0x0A00_0102, reason: "unsupported protocol"),
                "OpenSSL failed: unsupported protocol (code 167772418)"
            ),
        ]
        for (error, text) in texts {
            #expect(error.description == text)
        }
    }

    @Test("TI2 Each fault of an identity prints as one line")
    func identities() {
        let texts: [(IdentityError, String)] = [
            (
                .unreadable(path: "/a.pem", errno: 2),
                "/a.pem cannot be read: No such file or directory"
            ),
            (.noCertificate, "there is no certificate"), (.noKey, "there is no private key"),
            (.passwordRequired, "a password is needed"), (.wrongPassword, "the password is wrong"),
            (.noIntegrity, "the PKCS#12 file has no check value (MAC), so it could be anybody's"),
            (
                .unsupportedAlgorithm("RC2-40-CBC"),
                "algorithm RC2-40-CBC is not supported; old ones need allowsLegacyAlgorithms"
            ),
            (.keyMismatch, "the private key belongs to none of the certificates, or is damaged"),
            (.malformed(.pem, offset: 7), "malformed PEM at byte 7"),
            (
                .wrongFormat(.pem, expected: [.pkcs12]),
                "this is PEM, not PKCS#12; it is read by certificateChain or certificateFile"
            ),
            (
                .inFile(path: "/a.pem", .noKey),
                "/a.pem: there is no private key"
            ),
            (.tooWeak("RSA key of 768 bits"), "too weak: RSA key of 768 bits"),
        ]
        for (error, text) in texts {
            #expect(error.description == text)
        }
    }

    @Test("A socket's error carries one, and compares by its text")
    func inSocketError() {
        let error: any SecurityError = TLSError.interrupted
        #expect(error.isOfHandshake && "\(error)" == TLSError.interrupted.description)
        #expect(!(TLSError.truncated(bytes: 1) as any SecurityError).isOfHandshake)
    }

    @Test("Alerts are equal by their codes")
    func alerts() {
        #expect(TLSAlert(code: 48, offered: [.tls13]) == .unknownCA)
        #expect(TLSAlert.unknownCA != .badCertificate)
        #expect(TLSError.alert(.init(code: 48, isOfHandshake: true), from: .peer).isOfHandshake)
    }
}
