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
        let warning = "debug build, whose figures say nothing about a release build"
        return [
            Condition("commit", commit),
            Condition("compiler", "Swift \(CompilerVersion.text)"),
            Condition("build", isDebugBuild ? warning : "release build"),
        ]
    }

    private static let isDebugBuild = _isDebugAssertConfiguration()

    /// The machine and its kernel.
    static var ofThisMachine: [Condition] {
        var names = utsname()
        uname(&names)
        let system = String(zeroTerminated: names.sysname)
        let release = String(zeroTerminated: names.release)
        let architecture = String(zeroTerminated: names.machine)
        return [
            Condition("kernel", "\(system) \(release) \(architecture)"),
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
}

extension String {
    /// The text in a C array of characters, which Swift sees as a tuple, up to its zero byte.
    init(zeroTerminated characters: some BitwiseCopyable) {
        // The bytes are those of the argument, and are looked at within the call only.
        self = withUnsafeBytes(of: characters) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
