/// Whose turn it is in one exchange over HTTP/1: a request out, a response in, which may overtake
/// it.
///
/// Knows no bytes, no socket and no clock.
///
/// Source: RFC 9112 section 9; RFC 9110 section 10.1.1.
struct HTTP1Dialogue {
    /// What is done about the request's body.
    enum Sending {
        /// It waits for the server's consent.
        case waitingForContinue
        /// It is being sent.
        case sending
        /// All of the request was handed over.
        case sent
        /// The server has answered before it was sent, and gets no more of it.
        case stopped
    }

    /// What is done about the response.
    enum Receiving {
        case head
        case body
        case ended
    }

    private(set) var sending: Sending
    private(set) var receiving = Receiving.head

    /// Whether a byte of a response has come.
    private(set) var hasHeard = false

    /// A request, whose body may have to wait.
    init(hasBody: Bool, waitsForContinue: Bool) {
        sending = !hasBody ? .sent : waitsForContinue ? .waitingForContinue : .sending
    }

    /// Whether both directions are done with.
    var isOver: Bool {
        guard receiving == .ended else { return false }
        switch sending {
        case .sent, .stopped: return true
        case .sending, .waitingForContinue: return false
        }
    }

    /// Whether the next request may follow, as far as this one's own way out goes.
    var sentInFull: Bool { sending == .sent }

    /// Bytes came.
    mutating func heard() {
        hasHeard = true
    }

    /// The server consents, or has let the time for that pass.
    ///
    /// - Returns: Whether the body is to be sent now.
    mutating func consented() -> Bool {
        guard sending == .waitingForContinue else { return false }
        sending = .sending
        return true
    }

    /// The kernel has the last byte of the request.
    mutating func requestSent() {
        if sending == .sending { sending = .sent }
    }

    /// The head of the final response came.
    ///
    /// - Parameters:
    ///   - status: Its status code.
    ///   - closes: Whether the server says that it will close.
    /// - Returns: Whether the rest of the body is not to be sent.
    mutating func receivedHead(status: Int, closes: @autoclosure () -> Bool) -> Bool {
        receiving = .body
        switch sending {
        case .sent, .stopped:
            return false
        case .waitingForContinue:
            // What was promised will never come: the connection ends with this exchange.
            sending = .stopped
            return true
        case .sending:
            guard status >= 300 || closes() else { return false }
            sending = .stopped
            return true
        }
    }

    /// The response is complete.
    mutating func receivedEnd() {
        receiving = .ended
    }

    /// Nothing more can be sent, but what comes still counts.
    mutating func sendingFailed() {
        if sending != .sent { sending = .stopped }
    }
}
