import Testing
import TowlineHTTP

/// Ways to cut bytes into pieces.
enum Cuts {
    static func whole(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] { [bytes[...]] }

    static func byBytes(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        bytes.indices.map { bytes[$0..<$0 + 1] }
    }

    /// Behind each byte of this value.
    static func behind(_ byte: UInt8, in bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var start = 0
        for index in bytes.indices where bytes[index] == byte {
            pieces.append(bytes[start..<index + 1])
            start = index + 1
        }
        return pieces + [bytes[start...]]
    }

    /// Once, at each place.
    static func inTwo(_ bytes: [UInt8]) -> [[ArraySlice<UInt8>]] {
        bytes.indices.map { [bytes[..<$0], bytes[$0...]] }
    }

    /// All of these ways; each place alone for short texts only.
    static func all(_ bytes: [UInt8]) -> [[ArraySlice<UInt8>]] {
        [
            whole(bytes), byBytes(bytes), behind(UInt8(ascii: "\n"), in: bytes),
            behind(UInt8(ascii: "\r"), in: bytes),
        ] + (bytes.count <= 400 ? inTwo(bytes) : [])
    }
}

extension ParserRun {
    /// What comes of a text, which is the same for every way to cut it.
    static func ofEveryCut(
        _ text: String,
        then ending: Ending = .hold,
        expecting expectation: HTTP1Parser.Expectation = .init(method: .get),
        profile: HTTPProfile = .standard,
        limits: HTTP1Limits = .init(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> ParserRun {
        let run = { (pieces: [ArraySlice<UInt8>]) in
            ParserRun(
                pieces,
                then: ending,
                expecting: expectation,
                profile: profile,
                limits: limits
            )
        }
        let bytes = Array(text.utf8)
        let whole = run(Cuts.whole(bytes))
        for pieces in Cuts.all(bytes).dropFirst() where run(pieces) != whole {
            Issue.record(
                "\(text.debugDescription) cut into \(pieces.prefix(9).map(\.count))",
                sourceLocation: sourceLocation
            )
        }
        return whole
    }

    /// The fault that ended it.
    var fault: HTTP1Fault? {
        if case .failed(let fault) = outcome { return fault }
        return nil
    }

    /// The body as text.
    var bodyText: String { String(decoding: body, as: UTF8.self) }
}
