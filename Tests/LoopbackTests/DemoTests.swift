import TestSupport
import Testing

/// The demonstration as a newcomer runs it: the built program, its exit code and what it prints.
@Suite("Demo") struct DemoTests {
    /// What some line must contain, each in one line.
    private static let expected = [
        ["client\tdidConnectTo: 127.0.0.1:"],
        ["server\tdidAccept: from 127.0.0.1:"],
        ["client\tdidRead 3: 23 bytes, \"any bytes, however many\""],
        ["server\tdidProgressRead 12: 500000 bytes"],
        ["client\tshouldTimeOutRead 4: "],
        ["server\tdidDisconnect: ", "closed by the peer"],
        ["client\tdidDisconnect: ", "connection refused (ECONNREFUSED)"],
    ]

    @Test("The demonstration hears every callback in the promised order, and ends by itself")
    func wholeRun() throws {
        let exit = try ChildProcess.run(try BuiltProduct.path(of: "Demo"), within: .seconds(30))
        let output = try #require(exit?.standardOutput, "it bounds itself, and did not end")
        let lines = output.split(separator: "\n")
        #expect(exit?.code == 0, "\(output)")
        #expect(lines.last == "Every callback came in the order that is promised.")
        for pieces in Self.expected {
            let isThere = lines.contains { line in pieces.allSatisfy { line.contains($0) } }
            #expect(isThere, "no line has \(pieces)")
        }
        #expect(!output.contains("timed out"), "the read got more time, and was served in it")
    }
}
