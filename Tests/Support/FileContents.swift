internal import Glibc
internal import Towline

/// Files that are read whole.
public enum FileContents {
    /// The bytes of a file.
    ///
    /// - Parameter path: Where it is.
    /// - Returns: All of them.
    /// - Throws: `SystemCallError` with the call that failed.
    public static func read(_ path: String) throws -> [UInt8] {
        let descriptor = try check("open", open(path, O_RDONLY | O_CLOEXEC))
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try check("read", Glibc.read(descriptor, &chunk, chunk.count))
            if count == 0 { return bytes }
            bytes += chunk.prefix(count)
        }
    }
}

/// The files that the tests were built from.
public enum Checkout {
    /// Where a file of the package is.
    ///
    /// - Parameter name: Its path from the root of the package.
    /// - Returns: Its whole path.
    public static func path(of name: String) -> String { "\(root)/\(name)" }

    /// This file is two folders below the root.
    static let root: String = {
        var path = Substring(#filePath)
        for _ in 0..<3 { path = path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex) }
        return String(path)
    }()
}

/// Cases that lie outside of the package: they come from other projects, and are not copied.
public enum SharedCases {
    /// What a test that needs them says where they are not.
    public static let hint = "\(folder) is not there; TOWLINE_CASES says where the cases are"

    /// Whether a file of cases is there.
    ///
    /// - Parameter name: Such as `tls-names.json`.
    /// - Returns: Whether it can be read.
    public static func areThere(_ name: String) -> Bool {
        access("\(folder)/\(name)", R_OK) == 0
    }

    /// What is in a file of cases.
    ///
    /// - Parameter name: Such as `tls-names.json`.
    /// - Returns: All of its bytes.
    /// - Throws: `SystemCallError` with the call that failed.
    public static func read(_ name: String) throws -> [UInt8] {
        try FileContents.read("\(folder)/\(name)")
    }

    /// What `TOWLINE_CASES` says, or else a folder beside the package.
    private static let folder =
        getenv("TOWLINE_CASES").map { String(cString: $0) } ?? Checkout.path(of: "../shared/cases")
}
