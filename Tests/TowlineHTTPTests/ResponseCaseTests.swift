import TestSupport
import Testing
import TowlineHTTP

/// The parser alone, by files of cases: whole, byte by byte, cut at every line end and, where they
/// are short, at each place.
@Suite("Responses, by their cases") struct ResponseCaseTests {
    @Test("The project's own cases come out as they say, however they are cut")
    func ownCases() throws {
        let bytes = try FileContents.read(Checkout.path(of: "Tests/Cases/http-responses-own.json"))
        try run(bytes, called: "http-responses-own.json", count: 60)
    }

    @Test(
        "The cases of others come out as they say, however they are cut",
        .enabled(
            if: SharedCases.areThere("http-responses.json"),
            Comment(rawValue: SharedCases.hint)
        )
    )
    func foreignCases() throws {
        let bytes = try SharedCases.read("http-responses.json")
        try run(bytes, called: "http-responses.json", count: 52)
    }

    private func run(_ file: [UInt8], called name: String, count: Int) throws {
        let cases = try ResponseCases.decode(file)
        #expect(cases.count == count)
        var passedCount = 0
        for entry in cases {
            let isPassed = try [HTTPProfile.standard, .strict].map { try passes(entry, $0) }
            if isPassed == [true, true] { passedCount += 1 }
        }
        print("\(name): \(passedCount) of \(cases.count) cases passed, each in both profiles")
        #expect(passedCount == cases.count)
    }

    private func passes(_ entry: ResponseCases.Case, _ profile: HTTPProfile) throws -> Bool {
        let bytes = entry.bytes
        let wish = profile == .strict ? entry.strictWish ?? entry.wish : entry.wish
        let run = { (pieces: [ArraySlice<UInt8>]) in
            ParserRun(pieces, then: entry.ending, expecting: entry.expectation, profile: profile)
        }
        let whole = run(Cuts.whole(bytes))
        let complaints = wish.complaints(about: whole)
        #expect(complaints.isEmpty, "\(entry.id), \(profile): \(whole.outcome)")
        var isPassed = complaints.isEmpty
        for pieces in Cuts.all(bytes).dropFirst() where run(pieces) != whole {
            let sizes = pieces.prefix(9).map(\.count)
            Issue.record("\(entry.id), \(profile), cut into \(sizes): \(run(pieces).outcome)")
            isPassed = false
        }
        return isPassed
    }
}

extension ResponseCases.Case {
    fileprivate var ending: ParserRun.Ending {
        switch then {
        case "close": .close
        case "reset": .reset
        default: .hold
        }
    }

    fileprivate var expectation: HTTP1Parser.Expectation {
        HTTP1Parser.Expectation(
            method: HTTPMethod(rawValue: request.method),
            isUpgrade: request.upgrade != nil,
            allowsHTTP09: options?.allowsHTTP09 ?? false
        )
    }
}

extension ResponseCases.Wish {
    fileprivate func complaints(about run: ParserRun) -> [String] {
        // What is wrong with a body's coding is no matter of framing.
        let isCodingFault = error == "decode"
        var complaints: [String] = []
        func check(_ isRight: Bool, _ what: String) {
            if !isRight { complaints.append(what) }
        }
        check(run.name == (isCodingFault ? "ok" : outcome), "outcome")
        if !isCodingFault { check(run.isReusable == isReusable, "reusable") }
        if let head { check((run.head != nil) == head, "head") }
        let count = interimCount ?? interim?.count
        if let count { check(run.interim.count == count, "count of interim heads") }
        if let interim { check(run.interim.map(\.status).starts(with: interim), "interim heads") }
        if let status { check(run.head?.status == status, "status") }
        if let version { check(run.head.map { "\($0.version)" } == "HTTP/\(version)", "version") }
        if let reason { check(run.head.map { Latin1.text($0.reason.utf8) } == reason, "reason") }
        if let headers { check(run.head?.headers.pairs == headers, "headers") }
        if let trailers { check(run.trailers?.pairs == trailers, "trailers") }
        if let body {
            let isRight = outcome == "fail" ? body.starts(with: run.body) : run.body == body
            check(isRight, "body")
        }
        if let leftover { check(run.leftover == leftover, "leftover") }
        for complaint in complaints { Issue.record("wrong: \(complaint)") }
        return complaints
    }
}

/// Bytes as the characters of the same numbers.
private enum Latin1 {
    static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}

extension HTTPHeaders {
    fileprivate var pairs: [[String]] { map { [$0.name, Latin1.text($0.value)] } }
}

extension ParserRun {
    fileprivate var name: String {
        switch outcome {
        case .pending: "pending"
        case .complete: "ok"
        case .upgraded: "upgrade"
        case .failed: "fail"
        }
    }
}
