internal import Glibc

/// One thing that figures depend on.
struct Condition {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

extension Condition {
    /// The program: its source, its compiler, how it was built.
    static var ofThisBuild: [Condition] {
        let mode = isDebugBuild ? "debug build, whose figures say nothing about a release" : "release"
        return [
            Condition("commit", commit),
            Condition("compiler", "Swift \(compilerVersion)"),
            Condition("build", mode),
        ]
    }

    private static let isDebugBuild = _isDebugAssertConfiguration()

    /// The machine and its kernel.
    static var ofThisMachine: [Condition] {
        var names = utsname()
        uname(&names)
        let kernel = [text(names.sysname), text(names.release), text(names.machine)]
        return [
            Condition("kernel", kernel.joined(separator: " ")),
            Condition("processor", processor ?? "unknown"),
        ]
    }

    /// The commit of the sources, with a mark if they have changed since.
    private static var commit: String {
        let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
        let arguments = ["-C", "/" + folder, "describe", "--always", "--dirty", "--abbrev=12"]
        do {
            let git = try ChildProcess("git", arguments, hidesErrors: true)
            return try git.readLine(within: .seconds(5))
        } catch {
            // Sources without a history, or a machine without git: still a fair measurement.
            return "unknown"
        }
    }

    /// The first processor's name in proc_cpuinfo(5), which not every architecture gives.
    private static var processor: String? {
        guard let file = fopen("/proc/cpuinfo", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 1_024)
        while fgets(&line, CInt(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
            guard text.hasPrefix("model name"), let colon = text.firstIndex(of: ":") else {
                continue
            }
            return String(text[colon...].dropFirst(2).dropLast())
        }
        return nil
    }

    /// The text in a C array of characters, up to its zero byte.
    private static func text(_ characters: some BitwiseCopyable) -> String {
        withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
