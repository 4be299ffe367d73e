import TowlineHTTP

/// What a harness was given: how the parser is made, how the bytes are cut, and the bytes.
///
/// The first three bytes are choices, so that the fuzzer can turn each of them alone.
struct FuzzInput {
    let expectation: HTTP1Parser.Expectation
    let profile: HTTPProfile
    let ending: ParserRun.Ending
    let limits: HTTP1Limits
    let cutSeed: UInt8
    let bytes: [UInt8]

    init?(_ data: UnsafePointer<UInt8>, _ count: Int, behind head: String = "") {
        guard count >= 3 else { return nil }
        let choices = data[0]
        let methods: [HTTPMethod] = [.get, .get, .head, .connect]
        expectation = HTTP1Parser.Expectation(
            method: methods[Int(choices & 3)],
            isUpgrade: choices & 4 != 0,
            allowsHTTP09: choices & 8 != 0
        )
        profile = choices & 16 != 0 ? .strict : .standard
        ending = [.hold, .close, .reset][Int(data[1] % 3)]
        var limits = HTTP1Limits()
        if data[1] & 0x80 != 0 {
            // Small ones, so that short inputs reach them.
            limits.head = 96
            limits.line = 40
            limits.fieldCount = 4
            limits.trailers = 32
            limits.chunkExtensions = 12
        }
        self.limits = limits
        cutSeed = data[2]
        bytes = Array(head.utf8) + UnsafeBufferPointer(start: data + 3, count: count - 3)
    }

    /// Whole, byte by byte, at every line end, and cut by chance.
    var cuts: [[ArraySlice<UInt8>]] {
        [
            [bytes[...]], bytes.indices.map { bytes[$0..<$0 + 1] },
            pieces { bytes[$0 - 1] == UInt8(ascii: "\n") },
            pieces { (($0 &* 0x9E37_79B1) >> 7 ^ Int(cutSeed)) & 7 == 0 },
        ]
    }

    /// The bytes, cut in front of each place that this says so of.
    private func pieces(cutting shouldCut: (Int) -> Bool) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var start = 0
        for index in bytes.indices.dropFirst() where shouldCut(index) {
            pieces.append(bytes[start..<index])
            start = index
        }
        return pieces + [bytes[start...]]
    }

    /// Stops the program if the events depend on how the bytes are cut, or make no sense.
    func check() {
        let runs = cuts.map {
            ParserRun($0, then: ending, expecting: expectation, profile: profile, limits: limits)
        }
        let whole = runs[0]
        for run in runs.dropFirst() where run != whole {
            fatalError("cut otherwise:\n\(run)\nwhole:\n\(whole)")
        }
        if case .complete = whole.outcome {
            precondition(whole.head != nil, "an end has a head")
            if case .known(let count)? = whole.length { precondition(whole.body.count == count) }
            precondition(
                !whole.isReusable || whole.leftover.isEmpty,
                "stray bytes end a connection"
            )
        } else {
            precondition(!whole.isReusable, "only what has ended is used again")
        }
        precondition(whole.body.count <= bytes.count, "a body comes from its bytes")
    }
}
