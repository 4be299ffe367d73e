import Glibc
import Testing

/// The files that the tests were built from.
enum Checkout {
    /// This file is two folders below the root.
    private static let root: String = {
        var path = Substring(#filePath)
        for _ in 0..<3 { path = path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex) }
        return String(path)
    }()

    /// The text of a file.
    static func text(of path: String) throws -> String {
        try #require(textIfThere(of: path), "\(path) can be read")
    }

    /// The text of a file; `nil` without the file.
    static func textIfThere(of path: String) -> String? {
        guard let file = fopen("\(root)/\(path)", "re") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk.prefix(count)
        }
    }

    /// The paths of all files below a folder whose names end so, in order.
    static func files(below folder: String, ending: String) -> [String] {
        guard let directory = opendir("\(root)/\(folder)") else { return [] }
        defer { closedir(directory) }
        var paths: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                // The field is larger than any name, and the name ends with a zero byte.
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard !name.hasPrefix(".") else { continue }
            let path = "\(folder)/\(name)"
            if entry.pointee.d_type == UInt8(DT_DIR) {
                paths += files(below: path, ending: ending)
            } else if name.hasSuffix(ending) {
                paths.append(path)
            }
        }
        return paths.sorted()
    }

    /// The Swift files of a folder, read and taken apart.
    static func sources(below folder: String) throws -> [SourceFile] {
        let found = sources.filter { $0.path.hasPrefix(folder + "/") }
        try #require(!found.isEmpty, "\(folder) has Swift files")
        return found
    }

    /// Read once for all tests.
    private static let sources: [SourceFile] = ["Sources", "Benchmarks", "Examples", "Tests"]
        .flatMap { files(below: $0, ending: ".swift") }
        .compactMap { path in textIfThere(of: path).map { SourceFile(path: path, text: $0) } }
}
