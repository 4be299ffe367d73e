import Testing
import TowlineHTTP

@testable import fetch

@Suite("fetch: options") struct OptionTests {
    @Test("Short options stand together, and the last one may have its value behind it")
    func cluster() throws {
        let draft = try ArgumentParser.parse(["-sSo", "file", "-XPUT", "http://box.test/"])
        #expect(draft.globals.isSilent)
        #expect(draft.globals.showsErrors)
        #expect(draft.current.outputs == [.file("file")])
        #expect(draft.current.method == "PUT")
        #expect(draft.current.urls == ["http://box.test/"])
    }

    @Test("What was switched on is switched off by its name with no- in front")
    func negation() throws {
        let draft = try ArgumentParser.parse(["--location", "--no-location", "--no-keepalive"])
        #expect(!draft.current.followsRedirects)
        #expect(draft.current.connection.keepsNoAlive)
    }

    @Test("A name may be cut where no other begins like it")
    func prefix() throws {
        #expect(try ArgumentParser.parse(["--compr"]).current.isCompressed)
        #expect(throws: UsageError("option --da: is ambiguous")) {
            try ArgumentParser.parse(["--da", "x"])
        }
    }

    @Test(
        "What is no option, or lacks its value, ends with 2",
        arguments: [["--colour"], ["-9"], ["--output"], ["-o"], ["--retry", "-1"], ["-m", "x"]]
    )
    func refusal(arguments: [String]) {
        let error = #expect(throws: UsageError.self) { try ArgumentParser.parse(arguments) }
        #expect(error?.code == .usage)
    }

    @Test("No two rows have a name or a letter in common")
    func uniqueNames() {
        let names = OptionTable.rows.map(\.name)
        #expect(Set(names).count == names.count)
        let letters = OptionTable.rows.compactMap(\.short)
        #expect(Set(letters).count == letters.count)
    }

    @Test("Behind --next all options begin anew, but for those of the whole command")
    func next() throws {
        let draft = try ArgumentParser.parse(["-s", "-d", "a", "x", "-:", "-d", "b", "y"])
        #expect(draft.operations.map(\.urls) == [["x"], ["y"]])
        #expect(draft.operations.map(\.data) == [Array("a".utf8), Array("b".utf8)])
        #expect(draft.globals.isSilent)
    }

    @Test("Behind two dashes nothing is an option")
    func dashes() throws {
        #expect(try ArgumentParser.parse(["--", "-s"]).current.urls == ["-s"])
    }

    @Test("Pieces of data are parted by an ampersand, pieces of JSON by nothing")
    func data() throws {
        let draft = try ArgumentParser.parse(["-d", "a=1", "--data-raw", "@b"])
        #expect(draft.current.data == Array("a=1&@b".utf8))
        let json = try ArgumentParser.parse(["--json", "{", "--json", "}"])
        #expect(json.current.data == Array("{}".utf8))
        #expect(json.current.isJSON)
    }

    @Test(
        "What is to be encoded, is",
        arguments: [
            ("a b&", "a+b%26"), ("=a=b", "a%3Db"), ("name=a+b", "name=a%2Bb"), ("~-._", "~-._"),
        ]
    )
    func encoded(text: String, data: String) throws {
        let draft = try ArgumentParser.parse(["--data-urlencode", text])
        #expect(draft.current.data == Array(data.utf8))
    }

    @Test("A password stands behind the colon of a certificate's file")
    func certificate() throws {
        let settings = try ArgumentParser.parse(["-E", "a\\:b.pem:secret"]).current.connection
        #expect(settings.identityFile == "a:b.pem")
        #expect(settings.password == "secret")
    }

    @Test(
        "Sizes have units",
        arguments: [("10", 10), ("2k", 2048), ("1M", 1 << 20)] as [(String, UInt64)]
    )
    func sizes(text: String, count: UInt64) throws {
        #expect(try ArgumentParser.parse(["--limit-rate", text]).current.rateLimit == count)
    }

    @Test(
        "A line of a file of options is what the command line would have",
        arguments: [
            ("url = \"http://a/\"", ["--url", "http://a/"]), ("-o file", ["-o", "file"]),
            ("# nothing", []), ("silent", ["--silent"]), ("--user: a b", ["--user", "a b"]),
            ("data = \"a\\\"\\tb\"", ["--data", "a\"\tb"]), ("", []),
        ] as [(String, [String])]
    )
    func configuration(line: String, arguments: [String]) throws {
        #expect(try ConfigFile.arguments(of: line[...]) == arguments)
    }
}

@Suite("fetch: URLs that stand for several") struct GlobTests {
    @Test(
        "Lists and ranges are all of their members, the last place first",
        arguments: [
            ("h/{a,b}", ["h/a", "h/b"]), ("h/[1-3]", ["h/1", "h/2", "h/3"]),
            ("h/[08-10]", ["h/08", "h/09", "h/10"]), ("h/[a-e:2]", ["h/a", "h/c", "h/e"]),
            ("{a,b}[1-2]", ["a1", "a2", "b1", "b2"]), ("h/\\{x\\}", ["h/{x}"]),
            ("http://[::1]/", ["http://[::1]/"]), ("plain", ["plain"]),
        ]
    )
    func members(text: String, urls: [String]) throws {
        #expect(try URLGlob(text).matches.map(\.url) == urls)
        #expect(try URLGlob(text).count == urls.count)
    }

    @Test(
        "What makes no sense is a URL that is none",
        arguments: ["{a", "[1-", "a}", "[3-1]", "[x]"]
    )
    func nonsense(text: String) {
        let error = #expect(throws: UsageError.self) { try URLGlob(text) }
        #expect(error?.code == .malformedURL)
    }

    @Test("Places of a file's name are filled with what stands in the URL")
    func names() {
        #expect(URLGlob.fill("f_#1_#2.txt", with: ["a", "7"]) == "f_a_7.txt")
        #expect(URLGlob.fill("f#3#", with: ["a"]) == "f#3#")
    }

    @Test("A file of a form has a name and a type, which can be said otherwise")
    func form() throws {
        let written = "n\"=x;type=text/x; charset=y;filename=\"f;g\""
        let text = FormSpecification(text: written, isLiteral: false)
        let part = try FormPart(text).part
        #expect(part.name == "n\"")
        #expect(part.fileName == "f;g")
        #expect(part.contentType == "text/x; charset=y")
        let literal = FormSpecification(text: "n=@x;type=y", isLiteral: true)
        #expect(try FormPart(literal).part.content == .bytes(Array("@x;type=y".utf8)))
    }
}

@Suite("fetch: dates, names and machines") struct ValueTests {
    @Test(
        "Dates are read in the forms that there are",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994", "1994-11-06 08:49:37",
        ]
    )
    func dates(text: String) {
        #expect(HTTPDate.seconds(text) == 784_111_777)
    }

    @Test("A date is written as fields have it") func written() {
        #expect(HTTPDate.text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.seconds("yesterday") == nil)
    }

    @Test("A machine's user and password are found, else the default's") func machines() {
        let text = "machine a login x password y\nmachine b\n login z\ndefault login d password e"
        #expect(Netrc.entry(for: "a", text: text) == Netrc.Entry(user: "x", password: "y"))
        #expect(Netrc.entry(for: "b", text: text) == Netrc.Entry(user: "z", password: ""))
        #expect(Netrc.entry(for: "c", text: text) == Netrc.Entry(user: "d", password: "e"))
    }

    @Test(
        "Queries are put in front of the fragment, with what parts them",
        arguments: [
            ("http://a", "http://a/?q"), ("http://a/b?c#d", "http://a/b?c&q#d"),
            ("http://a/?", "http://a/?q"), ("http://a/#d", "http://a/?q#d"),
        ]
    )
    func queries(text: String, url: String) {
        #expect(URLText.adding(query: "q", to: text) == url)
    }

    @Test("A file is named in a URL that ends with a slash, and no other") func uploadNames() {
        #expect(URLText.naming(file: "d/a b", in: "http://h/x/") == "http://h/x/a%20b")
        #expect(URLText.naming(file: "d/a", in: "http://h") == "http://h/a")
        #expect(URLText.naming(file: "d/a", in: "http://h/x?y/") == "http://h/x?y/")
    }

    @Test(
        "A cookie comes out of a file as it went in",
        arguments: [
            "box.test\tFALSE\t/\tFALSE\t0\tname\tvalue",
            "#HttpOnly_.box.test\tTRUE\t/a\tTRUE\t4000000000\tname\t",
        ]
    )
    func cookies(line: String) throws {
        #expect(CookieFile.line(try #require(CookieFile.cookie(line[...]))) == line)
        #expect(CookieFile.cookie("# a remark") == nil)
        #expect(CookieFile.cookie("nothing of the kind") == nil)
    }

    @Test("A URL without a scheme is one of http") func schemes() {
        #expect(URLText.withScheme("box.test:80/x") == "http://box.test:80/x")
        #expect(URLText.withScheme("HTTPS://box.test") == "HTTPS://box.test")
        #expect(URLText.lastSegment(of: "box.test/a/b.txt?c/d") == "b.txt")
        #expect(URLText.lastSegment(of: "http://box.test/a/") == nil)
    }
}
