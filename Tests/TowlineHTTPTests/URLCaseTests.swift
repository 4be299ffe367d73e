import Foundation
import TestSupport
import Testing

@testable import TowlineHTTP

@Suite("URLs, by the cases of others") struct URLCaseTests {
    @Test(
        "Each URL has the parts that the standard's own tests give it, or is refused as there",
        .enabled(
            if: SharedCases.areThere("url-parse.json"),
            Comment(rawValue: SharedCases.hint)
        )
    )
    func cases() throws {
        let bytes = try SharedCases.read("url-parse.json")
        let file = try JSONDecoder().decode(CaseFile.self, from: Data(bytes))
        #expect(file.cases.count == 289)
        var passed = 0
        var unbuilt = 0
        for entry in file.cases {
            switch check(entry) {
            case .right: passed += 1
            case .notBuilt: unbuilt += 1
            case .wrong(let outcome): Issue.record("\(entry.id) \(entry.input): \(outcome)")
            }
        }
        #expect(unbuilt == (InternationalName.isBuilt ? 0 : 5))
        print("url-parse.json: \(passed) passed of \(file.cases.count), \(unbuilt) need IDN")
    }

    private enum Outcome {
        case right
        case notBuilt
        case wrong(String)
    }

    private func check(_ entry: CaseFile.Case) -> Outcome {
        do {
            let base = try entry.base.map { try HTTPURL($0) }
            let record = try URLParser.parse(
                entry.input.utf8.filter { $0 != 9 && $0 != 10 && $0 != 13 },
                relativeTo: base?.record
            )
            guard entry.failure != true, parts(of: record) == entry.parts else {
                return .wrong(record.href)
            }
            return checkPublic(entry, base)
        } catch let error as HTTPURLError {
            if case .invalidHost(_, .internationalNamesNotBuilt, _) = error, entry.failure != true {
                return .notBuilt
            }
            return entry.failure == true ? .right : .wrong("\(error)")
        } catch {
            return .wrong("\(error)")
        }
    }

    /// The same through the public door, which http and https alone go through.
    private func checkPublic(_ entry: CaseFile.Case, _ base: HTTPURL?) -> Outcome {
        let isWeb = entry.protocol == "http:" || entry.protocol == "https:"
        do {
            let url = try HTTPURL(entry.input, relativeTo: base, rule: .standard)
            let isRight = isWeb && url.href == entry.href && url.path == entry.pathname
            return isRight ? .right : .wrong(url.href)
        } catch HTTPURLError.unsupportedScheme(let scheme) {
            return !isWeb && "\(scheme):" == entry.protocol ? .right : .wrong(scheme)
        } catch {
            return .wrong("\(error)")
        }
    }

    /// Named and written as the standard's interface has them.
    private func parts(of record: URLRecord) -> [String?] {
        [
            record.href, "\(record.scheme):", record.username, record.password,
            record.host?.description ?? "", record.port.map(String.init) ?? "",
            String(decoding: record.path, as: UTF8.self),
            record.query.map { $0.isEmpty ? "" : "?\($0)" } ?? "",
            record.fragment.map { $0.isEmpty ? "" : "#\($0)" } ?? "",
        ]
    }
}

/// The file of cases.
private struct CaseFile: Decodable {
    let cases: [Case]

    struct Case: Decodable {
        let id, input: String
        let base: String?
        let failure: Bool?
        let href, `protocol`, username, password: String?
        let hostname, port, pathname, search, hash: String?

        var parts: [String?] {
            [href, `protocol`, username, password, hostname, port, pathname, search, hash]
        }
    }
}
