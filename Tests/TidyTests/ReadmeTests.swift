import Testing

@Suite("README") struct ReadmeTests {
    @Test(
        "The programs that it shows are the example files themselves",
        arguments: ["FirstServer", "FirstClient", "SecureServer", "SecureClient"]
    )
    func programs(name: String) throws {
        let example = try Checkout.text(of: "Examples/\(name).swift")
        #expect(try swiftBlocks().contains(example), "README shows another \(name).swift")
    }

    @Test("Its first program has at most 20 lines") func firstProgram() throws {
        let first = try #require(try swiftBlocks().first)
        #expect(first.split(separator: "\n", omittingEmptySubsequences: false).count <= 21)
    }

    @Test("Its lists of what it does and does not have at most six entries each")
    func bullets() throws {
        for title in ["**What it does**", "**What it does not**"] {
            let lines = try Checkout.text(of: "README.md").split(separator: "\n")
            let start = try #require(lines.firstIndex { $0 == title }, "\(title)")
            let list = lines[(start + 1)...].prefix { $0.hasPrefix("- ") || $0.hasPrefix("  ") }
            let count = list.count { $0.hasPrefix("- ") }
            #expect((1...6).contains(count), "\(title) has \(count)")
        }
    }

    /// The text of each Swift block, in their order.
    private func swiftBlocks() throws -> [String] {
        var blocks: [String] = []
        var current: [Substring]?
        let text = try Checkout.text(of: "README.md")
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line == "```swift" {
                current = []
            } else if line == "```", let block = current {
                blocks.append(block.map { $0 + "\n" }.joined())
                current = nil
            } else {
                current?.append(line)
            }
        }
        return blocks
    }
}
