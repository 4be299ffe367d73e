import Testing

@Suite("Changelog") struct ChangelogTests {
    private static let sections = ["### Added", "### Changed", "### Fixed", "### Removed"]

    @Test("Unreleased comes first, then versions with their dates, the newest first")
    func versions() throws {
        let titles = try lines().filter { $0.hasPrefix("## ") }
        #expect(titles.first == "## Unreleased")
        let versions = titles.dropFirst().map(version)
        for (title, version) in zip(titles.dropFirst(), versions) {
            #expect(version != nil, "\(title): a version and a date, as in `## 0.1.0 - 2026-01-31`")
        }
        for (newer, older) in zip(versions, versions.dropFirst()) {
            guard let newer, let older else { continue }
            #expect(older.lexicographicallyPrecedes(newer))
        }
    }

    @Test("A version has sections of the four kinds, in their order, each with entries")
    func sections() throws {
        var last = -1
        var entryCount = 1
        for line in try lines() + ["## end"] {
            if line.hasPrefix("## ") {
                #expect(entryCount > 0, "a section without entries in front of \(line)")
                last = -1
            } else if line.hasPrefix("### ") {
                #expect(entryCount > 0, "a section without entries in front of \(line)")
                let place = Self.sections.firstIndex(of: line)
                #expect(place != nil, "\(line) is none of the four")
                #expect((place ?? .max) > last, "\(line) is out of order")
                last = place ?? last
                entryCount = 0
            } else if line.hasPrefix("- ") {
                entryCount += 1
            }
        }
    }

    @Test("An entry stands in a section, and goes on with two spaces")
    func entries() throws {
        let lines = try lines()
        let start = try #require(lines.firstIndex { $0.hasPrefix("### ") })
        for line in lines[start...] where !line.isEmpty && !line.hasPrefix("#") {
            #expect(line.hasPrefix("- ") || line.hasPrefix("  "), "\(line)")
            #expect(line.count <= 100, "\(line)")
        }
        let before = lines[..<start].filter { $0.hasPrefix("- ") }
        #expect(before.isEmpty)
    }

    private func lines() throws -> [String] {
        let text = try Checkout.text(of: "CHANGELOG.md")
        return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// The numbers of a version, if the title has them and a date.
    private func version(_ title: String) -> [Int]? {
        let parts = title.dropFirst(3).split(separator: " ")
        guard parts.count == 3, parts[1] == "-" else { return nil }
        let numbers = parts[0].split(separator: ".").compactMap { Int($0) }
        let date = parts[2].split(separator: "-")
        guard numbers.count == 3, date.map(\.count) == [4, 2, 2],
            date.allSatisfy({ Int($0) != nil })
        else { return nil }
        return numbers
    }
}
