import Glibc

/// What a process has of the system: descriptors, threads, mappings and memory.
struct Belongings: CustomStringConvertible {
    let descriptors: Int
    let threads: Int
    let mappings: Int
    let residentKiB: Int

    init() {
        descriptors = Self.entries(of: "/proc/self/fd")
        threads = Self.entries(of: "/proc/self/task")
        mappings = Self.lines(of: "/proc/self/maps").count
        let status = Self.lines(of: "/proc/self/status")
        let line = status.first { $0.hasPrefix("VmRSS:") } ?? ""
        residentKiB = Int(line.filter(\.isNumber)) ?? 0
    }

    var description: String {
        "\(descriptors) descriptors, \(threads) threads, \(mappings) mappings, \(residentKiB) KiB"
    }

    /// What is more than it was; memory within 2 MiB and a few mappings is the allocator's.
    func complaints(since before: Belongings) -> [String] {
        var found: [String] = []
        if descriptors > before.descriptors { found.append("descriptors are left open") }
        if threads > before.threads { found.append("threads are left") }
        if mappings > before.mappings + 8 { found.append("mappings are left") }
        if residentKiB > before.residentKiB + 2_048 { found.append("memory has grown") }
        return found
    }

    private static func entries(of path: String) -> Int {
        guard let folder = opendir(path) else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count
    }

    private static func lines(of path: String) -> [Substring] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            guard count > 0 else { break }
            text += buffer.prefix(count)
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n")
    }
}
