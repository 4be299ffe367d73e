import TestSupport
import Testing

@testable import TowlineTLS

@Suite("The system's roots") struct SystemRootsTests {
    private let certificates: TestCertificates

    init() throws {
        certificates = try TestCertificates.made()
    }

    @Test("The first of the usual files with certificates is taken, and each place is told of")
    func files() throws {
        let empty = certificates.path("client/garbage.pem")
        let full = certificates.path("trust/roots.pem")
        let roots = SystemRoots(
            file: nil,
            directory: nil,
            usualFiles: ["/nowhere/at/all.pem", empty, full, certificates.path("crl/all.pem")],
            usualDirectories: []
        )
        #expect(roots.count == 1)
        #expect(
            roots.lookedIn == [
                "SSL_CERT_FILE (unset)", "SSL_CERT_DIR (unset)", "/nowhere/at/all.pem (not there)",
                "\(empty) (no further certificate in it)", "\(full) (1 certificates)",
            ]
        )
    }

    @Test("Directories are read where no file has any")
    func directories() {
        let roots = SystemRoots(
            file: nil,
            directory: nil,
            usualFiles: ["/nowhere.pem"],
            usualDirectories: ["/nowhere", certificates.path("trust")]
        )
        #expect(roots.count == 2)
        #expect(roots.lookedIn.last == "\(certificates.path("trust")) (2 certificates)")
    }

    @Test("What the environment says is all that is read")
    func variables() {
        let file = certificates.path("trust/other-roots.pem")
        let byFile = SystemRoots(file: file, directory: nil)
        #expect(byFile.count == 1)
        #expect(byFile.lookedIn.first == "SSL_CERT_FILE=\(file) (1 certificates)")
        let folder = certificates.path("trust")
        let byFolder = SystemRoots(file: nil, directory: "/nowhere:\(folder)")
        #expect(byFolder.count == 2)
        let wrong = SystemRoots(file: "/nowhere.pem", directory: nil)
        #expect(
            wrong.count == 0 && wrong.lookedIn.contains("SSL_CERT_FILE=/nowhere.pem (not there)")
        )
    }

    @Test("They are read once, and every evaluator has the same store")
    func shared() {
        let one = TrustEvaluator(.system)
        let other = TrustEvaluator(.pinned([]))
        #expect(one.store === other.store)
    }
}
