import Testing

/// The tests below look at sources through `SourceFile`; these see to it that it sees.
@Suite("Source files as the tidiness tests see them") struct SourceFileTests {
    private let file = SourceFile(
        path: "Sources/Some/File.swift",
        text: #"""
            internal import Glibc
            @testable import Other
            package import Third // import Comment

            /// import Doc, struct InComment
            public struct First: Equatable {
                struct Nested {}
                let text = "struct InString // \"import Quoted\""
                func long(
                    _ a: Int
                ) {
                    call()
                }
                func short() { call() }
            }
            /* enum Hidden {
            } */
            private enum Local {}
            final class Second {
                let block = """
                    struct InBlock
                    """
                deinit {
                    call()
                }
            }
            extension First {}

            """#
    )

    @Test("Imports are found with any access, and not in comments or strings")
    func imports() {
        #expect(file.imports == ["Glibc", "Other", "Third"])
    }

    @Test("Types are those outside of others, and not private to the file")
    func types() {
        #expect(file.declaredTypes == ["First", "Second"])
    }

    @Test("Words are those of the code alone")
    func words() {
        #expect(file.words.isSuperset(of: ["First", "Nested", "Local", "block", "call"]))
        let others: Set = ["InComment", "InString", "Quoted", "Hidden", "InBlock"]
        #expect(file.words.isDisjoint(with: others))
    }

    @Test("A function is as long as from its first line to its closing brace")
    func functions() {
        #expect(file.functions.map(\.length) == [5, 1, 3])
    }

    @Test("Code has as many lines as the file")
    func lines() {
        #expect(file.code.count == file.lines.count)
        #expect(file.lineCount == file.lines.count - 1)
    }
}
