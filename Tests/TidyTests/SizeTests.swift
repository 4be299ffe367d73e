import Testing

@Suite("Sizes") struct SizeTests {
    @Test(
        "No file has more lines than its folder allows",
        arguments: [("Sources", 500), ("Benchmarks", 500), ("Examples", 150), ("Tests", 800)]
    )
    func files(_ folder: String, _ limit: Int) throws {
        for file in try Checkout.sources(below: folder) {
            #expect(file.lineCount <= limit, "\(file.path) has \(file.lineCount) lines")
        }
    }

    @Test("No function of the product has more than 60 lines")
    func functions() throws {
        var count = 0
        for folder in ["Sources", "Benchmarks", "Examples"] {
            for file in try Checkout.sources(below: folder) {
                count += file.functions.count
                for function in file.functions where function.length > 60 {
                    Issue.record("\(file.path):\(function.line) has \(function.length) lines")
                }
            }
        }
        #expect(count > 300, "functions are found")
    }

    @Test("Lines end at column 100, with no space behind, and the file with one newline")
    func lines() throws {
        for folder in ["Sources", "Benchmarks", "Examples", "Tests"] {
            for file in try Checkout.sources(below: folder) {
                for (number, line) in file.lines.enumerated() {
                    #expect(line.count <= 100, "\(file.path):\(number + 1)")
                    #expect(line.last != " " && !line.contains("\t"), "\(file.path):\(number + 1)")
                }
                #expect(file.lines.last == "", "\(file.path) ends with a newline")
                #expect(file.lines.dropLast().last != "", "\(file.path) ends with one newline")
            }
        }
    }
}
