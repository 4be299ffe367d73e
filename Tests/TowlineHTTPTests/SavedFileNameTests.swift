import Testing
import TowlineHTTP

@Suite("Names of saved files") struct SavedFileNameTests {
    @Test(
        "A name that a peer suggests stays in the folder, and is seen",
        arguments: [
            ("a.txt", "a.txt"), ("/etc/passwd", "passwd"), ("..\\..\\b.exe", "b.exe"),
            ("../../.bashrc", "bashrc"), ("..", nil), (".", nil), ("", nil), ("a/", nil),
            ("/", nil),
            ("...a", "a"), (". .a", "a"), ("a\0b\r\n\u{1B}[c", "ab[c"), ("\0", nil),
            ("\u{85}", nil),
            ("a\u{202E}gpj.exe", "agpj.exe"), ("-rf", "-rf"), ("ü ö.txt ", "ü ö.txt"), ("  ", nil),
            ("C:\\x\\y", "y"), ("a..b", "a..b"), ("~", "~"),
        ]
    )
    func suggestions(_ suggestion: String, _ name: String?) {
        #expect(SavedFileName(suggestion)?.text == name)
    }

    @Test("A long name is cut between characters, and keeps its ending")
    func long() throws {
        let name = try #require(SavedFileName(String(repeating: "ü", count: 300) + ".jpeg"))
        #expect(name.text.utf8.count <= 200 && name.text.hasSuffix("ü.jpeg"))
        let plain = try #require(SavedFileName(String(repeating: "€", count: 300)))
        #expect(plain.text.utf8.count == 198 && plain.text.allSatisfy { $0 == "€" })
        let typed = plain.withEnding(forMediaType: "text/html")
        #expect(typed.text.utf8.count <= 200 && typed.text.hasSuffix("€.html"))
    }

    @Test(
        "The last segment of a URL is a name, decoded only if asked for",
        arguments: [
            ("http://h/a/b.txt?c/d#e", "b.txt", "b.txt"), ("http://h/a%2Fb%00c", "a%2Fb%00c", "bc"),
            ("http://h/a/", nil, nil), ("http://h", nil, nil), ("http://h/..%2F.x", "%2F.x", "x"),
            ("http://h/%2e%2e%2f", "%2e%2e%2f", nil), ("http://h/%FF", "%FF", "\u{FFFD}"),
        ]
    )
    func urls(_ text: String, _ plain: String?, _ decoded: String?) throws {
        let url = try HTTPURL(text)
        #expect(SavedFileName(url)?.text == plain)
        #expect(SavedFileName(url, isDecoded: true)?.text == decoded)
    }

    @Test(
        "Content-Disposition is read as RFC 6266 says, and its paths are not followed",
        arguments: [
            ("attachment; filename=a.txt", "a.txt"), ("inline", nil), ("", nil),
            ("attachment; FileName = \"a b.txt\" ; size=1", "a b.txt"),
            ("attachment; filename=\"a\\\"b;c\"", "a\"b;c"), ("attachment; filename=\"a", "a"),
            ("attachment; filename=\"../../etc/passwd\"", "passwd"),
            ("attachment; filename=a.txt; filename*=UTF-8''%e2%82%ac%20x", "€ x"),
            ("attachment; filename*=UTF-8'en'%2e%2e%2f%2ea; filename=b", "a"),
            ("attachment; filename*=iso-8859-1''%E9; filename=b", "é"),
            ("attachment; filename*=UTF-8''%FF; filename=b", "b"),
            ("attachment; filename*=koi8''a; filename=b", "b"),
            ("attachment; filename*=broken; filename=b", "b"),
            ("attachment; filename=a; filename=b", "a"), ("attachment; filename", nil),
            ("attachment; foo=\"; filename=x\"; filename=y", "y"), ("; filename=z", "z"),
            ("attachment;;; filename=\"\"", nil), ("attachment; filename=a%20b", "a%20b"),
            ("attachment; filename=naïve.txt", "naïve.txt"), ("attachment; filename=a b", "a b"),
        ]
    )
    func dispositions(_ value: String, _ name: String?) {
        #expect(SavedFileName(contentDisposition: Array(value.utf8))?.text == name)
    }

    @Test("An ending comes from the media type where there is none")
    func endings() throws {
        let bare = try #require(SavedFileName("a"))
        #expect(bare.withEnding(forMediaType: "Text/HTML; charset=utf-8").text == "a.html")
        #expect(bare.withEnding(forMediaType: "image/jpeg").text == "a.jpg")
        #expect(bare.withEnding(forMediaType: "application/problem+json").text == "a.json")
        #expect(bare.withEnding(forMediaType: "x/y").text == "a")
        #expect(SavedFileName("a.php")?.withEnding(forMediaType: "text/html").text == "a.php")
        #expect(SavedFileName("a.b c")?.withEnding(forMediaType: "text/html").text == "a.b c.html")
    }

    @Test("A name by type ends as the type wants it")
    func byType() throws {
        func name(_ url: String, _ type: String?) throws -> String {
            SavedFileName(try HTTPURL(url), mediaType: type).text
        }
        #expect(try name("http://h/", "text/html") == "index.html")
        #expect(try name("http://h/", nil) == "index")
        #expect(try name("http://h/a.htm", "text/html") == "a.htm")
        #expect(try name("http://h/a.JPEG", "image/jpeg") == "a.JPEG")
        #expect(try name("http://h/a.php?x", "image/png") == "a.php.png")
        #expect(try name("http://h/a.tar", "application/octet-stream") == "a.tar")
        #expect(try name("http://h/%2e%2e%2f", "image/gif") == "index.gif")
    }
}
