import Testing

@testable import Towline

@Suite("Unix path") struct UnixPathTests {
    @Test("A path has 1 through 107 bytes, none of them zero (A9)")
    func limits() {
        #expect(UnixPath("") == nil)
        #expect(UnixPath("/")?.path == "/")
        let longest = "/" + String(repeating: "a", count: 106)
        #expect(UnixPath(longest)?.path == longest)
        #expect(UnixPath(longest + "a") == nil, "108 bytes leave no room for the terminator")
        #expect(UnixPath("/a\0b") == nil)
        let umlauts = "/" + String(repeating: "ä", count: 54)
        #expect(UnixPath(umlauts) == nil, "bytes count, not characters")
    }

    @Test("The kernel gets a path with its terminator")
    func kernelForm() {
        #expect(UnixPath("/a")?.kernelBytes == [47, 97, 0])
    }

    @Test("A leading `@` makes an abstract name, which no file stands for (A9)")
    func abstractNames() throws {
        let name = try #require(UnixPath("@name"))
        #expect(name.isAbstract)
        #expect(name.path == nil)
        #expect(name.kernelBytes == [0] + Array("name".utf8))
        #expect(name.description == "@name")
        let path = try #require(UnixPath("/name"))
        #expect(!path.isAbstract)
        #expect(path.description == "/name")
    }

    @Test("No name is neither a path nor abstract, and prints as words")
    func unnamed() {
        #expect(UnixPath.unnamed.path == nil)
        #expect(!UnixPath.unnamed.isAbstract)
        #expect(UnixPath.unnamed.description == "unnamed Unix socket")
        #expect(UnixPath(kernelBytes: [] as [UInt8]) == .unnamed)
    }

    @Test("What the kernel tells is the same path with and without a terminator")
    func kernelBytes() {
        let path = UnixPath("/ab")
        #expect(UnixPath(kernelBytes: Array("/ab".utf8)) == path)
        #expect(UnixPath(kernelBytes: Array("/ab\0".utf8)) == path)
        #expect(UnixPath(kernelBytes: Array("/ab\0rest".utf8)) == path)
        #expect(UnixPath(kernelBytes: Array("\0ab".utf8)) == UnixPath("@ab"))
        #expect(
            UnixPath(kernelBytes: Array("\0ab\0".utf8)) != UnixPath("@ab"),
            "a zero counts here"
        )
    }
}
