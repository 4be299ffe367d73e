import Testing

@Suite("Words") struct WordTests {
    private static let folders = ["Sources", "Benchmarks", "Examples", "Tests"]

    @Test("Nothing in the product stops the program on its own, casts blindly, or sleeps")
    func refusedCode() throws {
        let refused = ["try!", "fatalError(", "as!", "sleep(", "Task.sleep", "DispatchQueue"]
        for file in try Checkout.sources(below: "Sources") {
            for (number, code) in file.code.enumerated() {
                for word in refused where code.contains(word) {
                    Issue.record("\(file.path):\(number + 1) says \(word)")
                }
            }
        }
    }

    @Test("Nothing sleeps in the tests either")
    func sleepingTests() throws {
        for file in try Checkout.sources(below: "Tests") {
            for (number, code) in file.code.enumerated()
            where code.contains("sleep(") || code.contains("Task.sleep") {
                Issue.record("\(file.path):\(number + 1) sleeps")
            }
        }
    }

    @Test("No error is dropped without a reason in the product")
    func droppedReasons() throws {
        for file in try Checkout.sources(below: "Sources") {
            for (number, code) in file.code.enumerated()
            where code.split(whereSeparator: { !$0.isLetter && $0 != "?" }).contains("try?") {
                Issue.record("\(file.path):\(number + 1) loses a reason")
            }
        }
    }

    @Test("No comment puts work off")
    func postponedWork() throws {
        let words = ["TO" + "DO", "FIX" + "ME", "XX" + "X"]
        for folder in Self.folders {
            for file in try Checkout.sources(below: folder) {
                for (number, line) in file.lines.enumerated() {
                    // mkdtemp(3) wants six of one of the letters.
                    let line = line.replacing("XXXXXX", with: "")
                    for word in words where line.contains(word) {
                        Issue.record("\(file.path):\(number + 1) says \(word)")
                    }
                }
            }
        }
    }

    @Test("No file begins with a banner, an author, a date or a licence")
    func banners() throws {
        let words = [
            "copyright", "created by", "license", "licence", "author", "====", "----", "****",
        ]
        for folder in Self.folders {
            for file in try Checkout.sources(below: folder) {
                for line in file.lines.prefix(5) where line.hasPrefix("//") || line.hasPrefix("/*")
                {
                    let found = words.filter { line.lowercased().contains($0) }
                    #expect(found.isEmpty, "\(file.path)")
                }
            }
        }
    }

    @Test("No comment is a line of drawing that only separates")
    func separators() throws {
        for folder in Self.folders {
            for file in try Checkout.sources(below: folder) {
                for (number, line) in file.lines.enumerated() {
                    let comment = line.drop { $0 == " " }
                    guard comment.hasPrefix("//") else { continue }
                    let text = comment.drop { $0 == "/" || $0 == " " }
                    let isDrawing = text.count > 3 && text.allSatisfy { "-=*#~_".contains($0) }
                    #expect(!isDrawing, "\(file.path):\(number + 1)")
                }
            }
        }
    }

    @Test("Each unchecked claim to be Sendable has a comment that says why it holds")
    func uncheckedSendable() throws {
        for folder in Self.folders {
            for file in try Checkout.sources(below: folder) {
                for (number, code) in file.code.enumerated() where code.contains("@unchecked") {
                    let isSaid = number > 0 && file.lines[number - 1].contains("//")
                    #expect(isSaid, "\(file.path):\(number + 1)")
                }
            }
        }
    }

    @Test("Each example is a target of its own")
    func examplesAreOneFileEach() throws {
        let names = try Checkout.sources(below: "Examples")
            .filter { !$0.path.hasPrefix("Examples/Support/") }.map(\.name)
        let package = try Checkout.text(of: "Package.swift")
        for name in names {
            let target = name.dropLast(".swift".count)
            #expect(package.contains("\"\(target)\""), "\(name) is a target of the package")
        }
    }
}
