import Testing

@Suite("README") struct ReadmeTests {
    private static let guide = "Sources/TowlineTLS/TowlineTLS.docc/TowlineTLS.md"

    @Test(
        "The programs that it shows are the example files themselves",
        arguments: ["FirstServer", "FirstClient", "SecureServer", "SecureClient", "AsyncFetch"]
    )
    func programs(name: String) throws {
        let example = try Checkout.text(of: "Examples/\(name).swift")
        let blocks = try swiftBlocks(of: "README.md")
        #expect(blocks.contains(example), "README shows another \(name).swift")
    }

    @Test("Its first program has at most 20 lines") func firstProgram() throws {
        let first = try #require(try swiftBlocks(of: "README.md").first)
        #expect(first.split(separator: "\n", omittingEmptySubsequences: false).count <= 21)
    }

    @Test(
        "A server and a client with TLS have fifteen lines at most, and stand in the guide, too",
        arguments: ["SecureServer", "SecureClient"]
    )
    func securePrograms(name: String) throws {
        let example = try Checkout.text(of: "Examples/\(name).swift")
        #expect(example.count { $0 == "\n" } <= 15)
        let blocks = try swiftBlocks(of: Self.guide)
        #expect(blocks.contains(example), "the guide shows another \(name).swift")
    }

    @Test("What README and the guide to TLS say of TLS compiles", arguments: ["README.md", guide])
    func pieces(page: String) throws {
        let compiled = code(of: try Checkout.text(of: "Tests/LoopbackTests/TLSGuide.swift"))
        let blocks = try swiftBlocks(of: page).filter { $0.contains("TLS") || page == Self.guide }
        #expect(blocks.count >= 4, "\(page) has blocks of code")
        for block in blocks where !block.hasPrefix("import ") && !block.hasPrefix(".product(") {
            let lines = code(of: block)
            #expect(!lines.isEmpty)
            let isThere = compiled.indices.contains { compiled[$0...].starts(with: lines) }
            #expect(isThere, "\(page) shows what TLSGuide.swift has not:\n\(block)")
        }
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

    /// The lines of a piece of code, apart from how deep they stand.
    private func code(of text: String) -> [Substring] {
        text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
    }

    /// The text of each Swift block, in their order.
    private func swiftBlocks(of page: String) throws -> [String] {
        var blocks: [String] = []
        var current: [Substring]?
        let text = try Checkout.text(of: page)
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
