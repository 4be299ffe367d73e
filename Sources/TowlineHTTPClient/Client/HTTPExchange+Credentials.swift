internal import Towline
internal import TowlineHTTP

/// What becomes of responses that want to know who asks.
extension HTTPExchange {
    /// How many answers one hop gives to the same side.
    private static let answerLimit = 2

    /// What such a response leads to; `nil` if it is none.
    func decideChallenge(_ head: HTTPResponseHead, _ hop: Hop) throws(HTTPError) -> FollowUp? {
        guard let asker = hop.asker(of: head) else { return nil }
        let answer = hop[answerTo: asker]
        guard answer.count < Self.answerLimit else { return .show }
        let challenges = asker.challenges(in: head)
        // Once the credential was proved the same one may do again only where that was too late.
        if let credential = hop.credential(for: asker),
            answer.count == 0 || DigestCredential.isStale(challenges),
            let next = try next(answering: challenges, of: asker, by: credential, hop)
        {
            return .next(next)
        }
        return try ask(head, hop, asker)
    }

    /// The hop that answers, by what was not sent at once; `nil` if the credential cannot.
    private func next(
        answering challenges: [HTTPChallenge],
        of asker: CredentialAsker,
        by credential: HTTPCredential,
        _ hop: Hop
    ) throws(HTTPError) -> Hop? {
        let next = hop.copy()
        next[answerTo: asker].count += 1
        next[answerTo: asker].credential = nil
        if !client.credentials.learn(challenges, from: asker, for: credential) {
            guard let basic = credential.basic(offeredBy: challenges) else { return nil }
            next[answerTo: asker].credential = basic
        }
        guard hop.request.body.isReplayable else { throw .bodyNotReplayable }
        return next
    }

    // MARK: Asking the delegate

    /// Asks; an answer that comes at once is carried out at once.
    private func ask(
        _ head: HTTPResponseHead,
        _ hop: Hop,
        _ asker: CredentialAsker
    ) throws(HTTPError) -> FollowUp {
        questionCount += 1
        question = CredentialQuestion(number: questionCount, head: head, asker: asker)
        put(
            HTTPCredentialRequest(
                isProxy: asker.isProxy,
                url: hop.url,
                head: head,
                answerCount: hop[answerTo: asker].count
            )
        )
        guard !hasEnded, question != nil else { return .show }
        guard let reply = question?.reply else {
            question?.isLate = true
            return .wait
        }
        question = nil
        return try followUp(of: reply, head, hop, asker)
    }

    private func put(_ request: HTTPCredentialRequest) {
        let ticket = CredentialTicket(self, number: questionCount)
        guard let delegate = currentDelegate else { return }
        delegate.exchange(self, needsCredentialFor: request) { ticket.use($0) }
    }

    /// The delegate has answered, within the question or later, or never will.
    fileprivate func replied(_ reply: HTTPCredential?, to number: Int) {
        guard !hasEnded, question?.number == number, question?.reply == nil else { return }
        question?.reply = .some(reply)
        guard question?.isLate == true else { return }
        client.reactor.schedule(after: .zero) { self.carryOutReply(number) }
    }

    private func carryOutReply(_ number: Int) {
        guard !hasEnded, let hop, let question, question.number == number,
            let reply = question.reply
        else { return }
        self.question = nil
        let next: FollowUp
        do throws(HTTPError) {
            next = try followUp(of: reply, question.head, hop, question.asker)
        } catch {
            next = .fail(error)
        }
        guard case .active(let connection) = phase else { return }
        connection.release(next, question.head, self)
    }

    private func followUp(
        of reply: HTTPCredential?,
        _ head: HTTPResponseHead,
        _ hop: Hop,
        _ asker: CredentialAsker
    ) throws(HTTPError) -> FollowUp {
        guard let reply else { return .show }
        let given = hop.copy()
        given.give(reply, to: asker)
        switch reply {
        case .basic, .bearer:
            guard hop.request.body.isReplayable else { throw .bodyNotReplayable }
            given[answerTo: asker].count += 1
            return .next(given)
        case .digest, .anyOffered:
            let challenges = asker.challenges(in: head)
            let next = try next(answering: challenges, of: asker, by: reply, given)
            return next.map { .next($0) } ?? .show
        }
    }

    /// Takes over what a response says of the answers that follow.
    func noteAuthenticationInfo(_ head: HTTPResponseHead, _ hop: Hop) {
        for asker in hop.askers {
            guard let credential = hop.credential(for: asker) else { continue }
            client.credentials.note(head.headers, from: asker, for: credential)
        }
    }
}

/// A question that the delegate was asked.
struct CredentialQuestion {
    let number: Int
    let head: HTTPResponseHead
    let asker: CredentialAsker
    /// Whether the call that asked has returned.
    var isLate = false
    /// The answer, once there is one; it may be none.
    var reply: HTTPCredential??
}

/// The right to answer once; whoever lets go of it unused has answered that there is none.
private final class CredentialTicket {
    private weak var exchange: HTTPExchange?
    private let number: Int
    private var isUsed = false

    init(_ exchange: HTTPExchange, number: Int) {
        self.exchange = exchange
        self.number = number
    }

    deinit {
        if !isUsed { exchange?.replied(nil, to: number) }
    }

    func use(_ credential: HTTPCredential?) {
        guard !isUsed else { return }
        isUsed = true
        exchange?.replied(credential, to: number)
    }
}

// MARK: The hop's part

extension Hop {
    /// Who may ask on this way.
    var askers: [CredentialAsker] {
        guard case .forward(let proxy) = key.way else { return [.server(url.origin)] }
        return [.server(url.origin), .proxy(proxy.place)]
    }

    /// Whether nothing proves to the server who asks.
    var hasNoCredential: Bool {
        (request.isUsual || request.credential == nil) && !url.hasUserInfo
    }

    /// Whether a proxy is given the request, and may ask, too.
    var isForwarded: Bool { if case .forward = key.way { true } else { false } }

    /// Who asks by a response, if anybody does.
    fileprivate func asker(of head: HTTPResponseHead) -> CredentialAsker? {
        askers.first { $0.status == head.status }
    }

    /// Who is said to ask, where no field that was set by hand says so.
    fileprivate func credential(for asker: CredentialAsker) -> HTTPCredential? {
        guard !request.headers.contains(asker.answerField) else { return nil }
        guard case .forward(let proxy) = key.way, asker.isProxy else { return request.credential }
        return proxy.credential
    }

    /// Takes a credential in place of what was there.
    fileprivate func give(_ credential: HTTPCredential, to asker: CredentialAsker) {
        request.headers.remove(asker.answerField)
        self[answerTo: asker].credential = nil
        guard case .forward(var proxy) = key.way, asker.isProxy else {
            request.credential = credential
            return
        }
        request.proxyCredential = credential
        proxy.credential = credential
        key = key.changed { $0.way = .forward(proxy) }
    }

    /// What was answered to a side.
    fileprivate subscript(answerTo asker: CredentialAsker) -> ChallengeAnswer {
        get { asker.isProxy ? proxyAnswer : serverAnswer }
        set { if asker.isProxy { proxyAnswer = newValue } else { serverAnswer = newValue } }
    }

    /// What is sent to prove who asks: what a side has led to, or what the request says.
    func provenCredential(for asker: CredentialAsker) -> HTTPCredential? {
        if let credential = self[answerTo: asker].credential ?? credential(for: asker) {
            return credential
        }
        guard !asker.isProxy, url.hasUserInfo else { return nil }
        return .basic(user: url.decodedUsername, password: url.decodedPassword)
    }
}

/// What one side was answered on a hop.
struct ChallengeAnswer {
    /// How often.
    var count = 0
    /// What is sent instead of the request's credential.
    var credential: HTTPCredential?
}
