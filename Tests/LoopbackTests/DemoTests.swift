import Foundation
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
        ["server\tdidDisconnect: ", "closed by peer"],
        ["client\tdidDisconnect: ", "connection refused (ECONNREFUSED)"],
    ]

    @Test("The demonstration hears every callback in the promised order, and ends by itself")
    func wholeRun() throws {
        let (exitCode, output) = try run("Demo")
        let lines = output.split(separator: "\n")
        #expect(exitCode == 0, "\(output)")
        #expect(lines.last == "Every callback came in the order that is promised.")
        for pieces in Self.expected {
            let isThere = lines.contains { line in pieces.allSatisfy { line.contains($0) } }
            #expect(isThere, "no line has \(pieces)")
        }
        #expect(!output.contains("timed out"), "the read got more time, and was served in it")
    }

    private func run(_ name: String) throws -> (exitCode: Int32, output: String) {
        let process = Process()
        process.executableURL = try builtProduct(name)
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        // The program bounds itself; this is for one that does not.
        let limit = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + 30, execute: limit)
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        limit.cancel()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    /// A program of this package, which lies beside the bundle that runs the tests.
    private func builtProduct(_ name: String) throws -> URL {
        let bundle = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let product = bundle.deletingLastPathComponent().appending(path: name)
        guard FileManager.default.isExecutableFile(atPath: product.path) else {
            throw MissingProduct(path: product.path)
        }
        return product
    }
}

/// A program that should have been built together with the tests.
private struct MissingProduct: Error, CustomStringConvertible {
    let path: String

    var description: String { "\(path) is absent: build it with swift build --build-tests" }
}
