internal import Glibc
internal import Towline

/// Certificates, keys, lists and responses of all kinds, good and bad, made by `make-certs.sh` once
/// in a process, and gone with it.
public struct TestCertificates: Sendable {
    /// The folder that they are in.
    public let folder: String

    /// The lines of the script's manifest: what has to come of each certificate.
    public let rows: [Row]

    /// A certificate, the name that it is looked at with, and what has to come of it.
    public struct Row: Sendable, CustomStringConvertible {
        /// The case, such as `good+crl`.
        public let name: String

        /// The file with what a server sends, and the one with its key.
        public let chain, key: String

        /// The name or address that is wanted.
        public let peer: String

        /// The file with the roots to trust.
        public let roots: String

        /// `ok`, or the name of the error.
        public let expected: String

        init(_ line: Substring) {
            let fields = line.split(separator: "\t").map(String.init)
            precondition(fields.count == 7, "a line has seven fields: \(line)")
            (name, chain, key) = (fields[0], fields[1], fields[2])
            (peer, roots, expected) = (fields[4], fields[5], fields[6])
        }

        /// The case and the name.
        public var description: String { "\(name) for \(peer)" }
    }

    /// The password of what is protected by one.
    public static let password = "correct horse"

    /// Those of this process; they are made when they are first asked for, which takes seconds.
    ///
    /// - Returns: Always the same.
    /// - Throws: What went wrong with the script.
    public static func made() throws -> TestCertificates {
        try shared.get()
    }

    private static let shared = Result { try TestCertificates() }

    private init() throws {
        var template = Array("/tmp/towline-certs-XXXXXX".utf8CString)
        let made = mkdtemp(&template)
        try check("mkdtemp", made == nil ? -1 : 0)
        let folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        self.folder = folder
        Self.removal.withLock { $0 = folder }
        atexit { TestCertificates.remove() }
        let script = Checkout.path(of: "Tests/Support/make-certs.sh")
        let exit = try ChildProcess.run("bash", [script, folder], within: .seconds(120))
        guard let exit, exit.code == 0 else {
            throw Failure(description: "make-certs.sh: \(exit?.standardError ?? "too slow")")
        }
        let text = String(decoding: try FileContents.read("\(folder)/manifest.tsv"), as: UTF8.self)
        rows = text.split(separator: "\n").map { Row($0) }
    }

    /// Why there are none.
    public struct Failure: Error, CustomStringConvertible {
        /// What the script said.
        public let description: String
    }

    /// Where a file is.
    ///
    /// - Parameter name: Such as `server/good.pem`.
    /// - Returns: Its whole path.
    public func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// What is in a file.
    ///
    /// - Parameter name: Such as `server/good.pem`.
    /// - Returns: All of its bytes.
    /// - Throws: If it cannot be read.
    public func bytes(_ name: String) throws -> [UInt8] {
        try FileContents.read(path(name))
    }

    private static let removal = Locked<String?>(nil)

    private static func remove() {
        guard let folder = removal.withLock({ $0 }) else { return }
        _ = try? ChildProcess.run("rm", ["-rf", folder])
    }
}
