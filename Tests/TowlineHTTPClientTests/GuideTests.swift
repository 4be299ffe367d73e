import Glibc
import Testing

@Suite("The guide") struct GuideTests {
    @Test("Each block of code that it shows is compiled, as it stands there")
    func blocks() throws {
        let tests = String(#filePath.prefix(through: #filePath.lastIndex(of: "/")!))
        let catalogue = "\(tests)../../Sources/TowlineHTTPClient/TowlineHTTPClient.docc"
        let guide = try lines(of: "\(catalogue)/TowlineHTTPClient.md")
        let compiled = try lines(of: "\(tests)GuideSnippets.swift").map(unindented)
        var blocks: [[String]] = []
        var current: [String]?
        for line in guide {
            if line == "```swift" {
                current = []
            } else if line == "```", let block = current {
                blocks.append(block)
                current = nil
            } else {
                current?.append(unindented(line))
            }
        }
        #expect(blocks.count == 19)
        for block in blocks {
            let isThere = compiled.indices.contains { compiled[$0...].starts(with: block) }
            #expect(isThere, "\(block.first ?? "")")
        }
    }

    private func unindented(_ line: String) -> String {
        let text = line.drop { $0 == " " }
        return String(text.hasPrefix("private ") ? text.dropFirst(8) : text)
    }

    private func lines(of path: String) throws -> [String] {
        let file = try #require(fopen(path, "r"), "\(path)")
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = fgetc(file), byte >= 0 { bytes.append(UInt8(byte)) }
        return String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}
