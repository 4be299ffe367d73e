import TowlineHTTP

/// What a parser made of some bytes, with the body put together: equal for every way to cut them.
struct ParserRun: Equatable {
    enum Outcome: Equatable {
        /// More bytes would be needed.
        case pending
        case complete
        case upgraded
        case failed(HTTP1Fault)
    }

    /// What happens behind the bytes.
    enum Ending {
        case hold
        case close
        case reset
    }

    private(set) var interim: [HTTPResponseHead] = []
    private(set) var head: HTTPResponseHead?
    private(set) var body: [UInt8] = []
    private(set) var trailers: HTTPHeaders?
    private(set) var outcome = Outcome.pending
    /// What is left behind an end or an upgrade.
    private(set) var leftover: [UInt8] = []
    private(set) var isReusable = false
    private(set) var length: HTTP1BodyLength?

    /// Gives the pieces to a parser.
    init(
        _ pieces: [ArraySlice<UInt8>],
        then ending: Ending = .hold,
        expecting expectation: HTTP1Parser.Expectation = .init(method: .get),
        profile: HTTPProfile = .standard,
        limits: HTTP1Limits = .init()
    ) {
        var parser = HTTP1Parser(profile: profile, limits: limits)
        parser.begin(expectation)
        self.init(pieces, then: ending, of: &parser)
    }

    /// Gives the pieces to a parser that expects a message.
    init(_ pieces: [ArraySlice<UInt8>], then ending: Ending = .hold, of parser: inout HTTP1Parser) {
        for piece in pieces {
            give(piece, to: &parser)
            if case .failed = outcome { break }
        }
        if outcome == .pending, ending != .hold {
            do throws(HTTP1Fault) {
                let event = try parser.reachEnd(isOrderly: ending == .close)
                if let event { take(event, from: []) }
            } catch {
                outcome = .failed(error)
            }
        }
        if outcome == .complete, !leftover.isEmpty { refuseLeftover(&parser) }
        isReusable = parser.allowsReuse
        length = parser.bodyLength
    }

    /// Gives one piece, which may be cut everywhere.
    init(
        _ text: String,
        then ending: Ending = .hold,
        expecting expectation: HTTP1Parser.Expectation = .init(method: .get),
        profile: HTTPProfile = .standard,
        limits: HTTP1Limits = .init()
    ) {
        self.init(
            [Array(text.utf8)[...]],
            then: ending,
            expecting: expectation,
            profile: profile,
            limits: limits
        )
    }

    private mutating func give(_ piece: ArraySlice<UInt8>, to parser: inout HTTP1Parser) {
        guard outcome == .pending else {
            leftover += piece
            return
        }
        let span = piece.span.bytes
        var offset = 0
        do throws(HTTP1Fault) {
            while outcome == .pending, let event = try parser.next(in: span, from: &offset) {
                take(event, from: piece)
            }
        } catch {
            outcome = .failed(error)
            return
        }
        let isWhole = offset == piece.count
        precondition(isWhole || outcome != .pending, "what is not consumed would be lost")
        leftover += piece.dropFirst(offset)
    }

    private mutating func take(_ event: HTTP1Event, from piece: ArraySlice<UInt8>) {
        switch event {
        case .interim(let head): interim.append(head)
        case .response(let head): self.head = head
        case .body(let range):
            precondition(!range.isEmpty, "a body's part is never empty")
            body += piece.dropFirst(range.lowerBound).prefix(range.count)
        case .earlierBody(let bytes): body += bytes
        case .trailers(let fields): trailers = fields
        case .end: outcome = .complete
        case .upgrade: outcome = .upgraded
        }
    }

    private func refuseLeftover(_ parser: inout HTTP1Parser) {
        var offset = 0
        do throws(HTTP1Fault) {
            let event = try parser.next(in: leftover.span.bytes, from: &offset)
            preconditionFailure("bytes behind a message became \(String(describing: event))")
        } catch {
            precondition(error == .unexpectedBytes)
        }
    }
}
