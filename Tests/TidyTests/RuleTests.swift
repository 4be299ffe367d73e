import Testing

@Suite("Rules") struct RuleTests {
    /// The rules that exist: a letter or two, and the highest number.
    private static let rules: [String: Int] = [
        // What a socket promises.
        "A": 12, "B": 2, "C": 11, "D": 6, "E": 7, "F": 5, "H": 5, "K": 3, "L": 6, "M": 7, "N": 7,
        "O": 7, "P": 4, "R": 9, "S": 9, "T": 7, "U": 3, "V": 4, "W": 10, "X": 6,
        // What the loop and its backends do.
        "AX": 6, "BK": 8, "DG": 4, "EM": 6, "EP": 11, "ID": 6, "LP": 11, "LS": 7, "OB": 5, "PX": 2,
        "RG": 22, "RS": 6, "SA": 2, "SD": 4, "SW": 8, "TM": 8, "WK": 4,
        // What TLS does.
        "TB": 11, "TE": 5, "TH": 6, "TI": 5, "TN": 6, "TR": 6, "TS": 7, "TU": 4, "TV": 9, "TW": 4,
    ]

    @Test("Each rule that a test names exists")
    func namedRules() throws {
        let named = try namedInTests()
        #expect(named.count > 40, "rules are found in the names of tests")
        for (rule, path) in named {
            let letters = String(rule.prefix { $0.isLetter })
            let number = Int(rule.drop { $0.isLetter }) ?? 0
            let last = Self.rules[letters] ?? 0
            #expect(number >= 1 && number <= last, "\(path) names \(rule)")
        }
    }

    @Test("Each rule that the list of rules calls tested is named by a test")
    func testedRules() throws {
        guard let text = Checkout.textIfThere(of: "Docs/Rules.md") else { return }
        let named = try namedInTests()
        let untested = ["Rules without a test", "Not there yet"]
        var isTested = true
        for line in text.split(separator: "\n") {
            if line.hasPrefix("#") { isTested = !untested.contains { line.contains($0) } }
            let isEntry = line.hasPrefix("- ") || line.hasPrefix("|")
            guard isEntry, let rule = Self.rules(in: line.prefix(20)).first else { continue }
            if isTested {
                #expect(named[rule] != nil, "\(rule) is called tested, and no test names it")
            }
        }
    }

    @Test("Each rule has its one place in the list: tested, without a test, or not there yet")
    func places() throws {
        guard let text = Checkout.textIfThere(of: "Docs/Rules.md") else { return }
        let named = try namedInTests()
        var places: [String: [String]] = [:]
        var title = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("#") { title = String(line.drop { $0 == "#" || $0 == " " }) }
            for rule in rules(of: line, in: title) { places[rule, default: []].append(title) }
        }
        for (letters, last) in Self.rules {
            for rule in (1...last).map({ "\(letters)\($0)" }) {
                #expect(places[rule]?.count == 1, "\(rule) is in \(places[rule] ?? [])")
                if places[rule] == ["Not there yet"] {
                    #expect(named[rule] == nil, "\(named[rule] ?? "") names \(rule)")
                }
            }
        }
    }

    @Test("Each trap and each wish of others is named by a test, or listed with the reason why not")
    func trapsAndWishes() throws {
        guard let text = Checkout.textIfThere(of: "Docs/Rules.md") else { return }
        let names = try namesOfTests()
        let numbered = /(?i)\b(trap|wish) (\d+)\b/
        func mentions(in text: some StringProtocol) -> [String] {
            String(text).matches(of: numbered).map { match in
                let isTrap = match.1.lowercased() == "trap"
                return "\(isTrap ? "Trap" : "Wish") \(match.2)"
            }
        }
        let named = Set(names.flatMap { mentions(in: $0.name) })
        var listed: [String: [String]] = [:]
        var title = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("#") { title = String(line.drop { $0 == "#" || $0 == " " }) }
            guard ["Traps", "Wishes", "Traps and wishes without a test"].contains(title) else {
                continue
            }
            let isEntry = line.hasPrefix("|") || line.hasPrefix("- ") || line.hasPrefix("  ")
            for mention in isEntry ? mentions(in: line) : [] {
                listed[mention, default: []].append(title)
            }
        }
        let all = (1...32).map { "Trap \($0)" } + (1...49).map { "Wish \($0)" }
        for mention in all {
            #expect(listed[mention]?.count == 1, "\(mention) is in \(listed[mention] ?? [])")
            let isTested = listed[mention]?.first?.contains("without") == false
            #expect(named.contains(mention) == isTested, "\(mention), by the names of the tests")
        }
    }

    /// The rules that a line of the list places: a row's first, an entry's up to its colon, or up
    /// to its end where the entry says what is not there yet, with `all of` before whole families.
    private func rules(of line: Substring, in title: String) -> [String] {
        if line.hasPrefix("|") {
            return Array(Self.rules(in: line.dropFirst().prefix(6)).prefix(1))
        }
        guard line.hasPrefix("- ") || line.hasPrefix("  ") else { return [] }
        guard title == "Not there yet" else {
            guard line.hasPrefix("- "), let colon = line.firstIndex(of: ":") else { return [] }
            return Self.rules(in: line[..<colon])
        }
        let single = Self.rules(in: line)
        guard let families = line.firstRange(of: "all of ") else { return single }
        let letters = line[families.upperBound...].split { !$0.isLetter }.map(String.init)
        return single
            + letters.flatMap { letters in
                (0..<(Self.rules[letters] ?? 0)).map { "\(letters)\($0 + 1)" }
            }
    }

    /// The rules that stand in tests' names, with a file that has them.
    private func namedInTests() throws -> [String: String] {
        var named: [String: String] = [:]
        for (name, path) in try namesOfTests() {
            for rule in Self.rules(in: name) { named[rule] = path }
        }
        return named
    }

    /// The names of all tests but these, with their files.
    private func namesOfTests() throws -> [(name: Substring, path: String)] {
        let name = /@Test\(\s*"((?:[^"\\]|\\.)*)"/
        let files = try Checkout.sources(below: "Tests").filter { !$0.path.contains("TidyTests") }
        return files.flatMap { file in
            let text = file.lines.joined(separator: "\n")
            return text.matches(of: name).map { ($0.1, file.path) }
        }
    }

    /// Words of one or two capitals and a number.
    private static func rules(in text: Substring) -> [String] {
        text.split { !$0.isLetter && !$0.isNumber }.map(String.init).filter { word in
            let letters = word.prefix { $0.isUppercase && $0.isASCII }
            let digits = word.dropFirst(letters.count)
            return (1...2).contains(letters.count) && !digits.isEmpty && digits.count <= 2
                && digits.allSatisfy { $0.isNumber }
        }
    }
}
