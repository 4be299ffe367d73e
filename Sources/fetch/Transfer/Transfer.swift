internal import Glibc
internal import Towline
internal import TowlineHTTP
internal import TowlineHTTPClient

/// One URL on its way: from its options to what it leaves behind.
final class Transfer: HTTPExchangeDelegate {
    /// What ends a transfer before its exchange would end by itself.
    enum Forced {
        case success
        case failure(FetchFailure)
    }

    let plan: TransferPlan
    let context: TransferContext
    private let completion: (Transfer) -> Void

    /// How it ended.
    private(set) var failure: FetchFailure?

    var builder: RequestBuilder
    var exchange: HTTPExchange?
    var output: OutputFile?
    private var headOutput: OutputFile?
    var facts = TransferFacts()
    var forced: Forced?

    /// Whether nothing of the body is shown.
    var ignoresBody = false
    /// How often it is still tried again.
    var retriesLeft: Int
    var retryWait = Duration.seconds(1)
    let began: MonotonicInstant
    var input: StandardInput?
    var hasBroughtData = false
    var cookies: CookieStore?
    /// Instead of an exchange, where the request was written by hand.
    var raw: RawTransfer?
    var rawURL: HTTPURL?
    /// Which proxy is asked for which URL.
    var exchangeRules: HTTPProxyRules?
    var pace: TransferPace
    /// Says how far it is; `nil` where nobody wants to know.
    var progress: ProgressBar?

    init(
        _ plan: TransferPlan,
        _ context: TransferContext,
        completion: @escaping (Transfer) -> Void
    ) {
        self.plan = plan
        self.context = context
        self.completion = completion
        builder = RequestBuilder(plan: plan, resumeOffset: 0)
        retriesLeft = plan.settings.retries
        began = context.reactor.now
        pace = TransferPace(plan.settings, began: context.reactor.now)
    }

    var settings: Settings { plan.settings }

    /// Begins it, or tries it again.
    func start() {
        facts = TransferFacts()
        facts.number = plan.number
        facts.url = plan.url
        facts.effectiveURL = plan.url
        forced = nil
        ignoresBody = false
        hasBroughtData = false
        do throws(FetchFailure) {
            try open()
            if let path = settings.rawRequest { return try startRaw(path) }
            builder.cookies = cookieField(for: try builder.url())
            let request = try builder.request()
            facts.method = request.method.rawValue
            facts.referer = request.headers["Referer"]
            facts.effectiveURL = request.url
            facts.scheme = URLText.scheme(of: request.url)
            if context.showsProgress { progress = ProgressBar() }
            let client = try context.client(settings.connection)
            exchangeRules = client.configuration.proxy
            let exchange = client.start(request, keeping: self)
            exchange.userInfo = self
            self.exchange = exchange
            pace = TransferPace(settings, began: context.reactor.now)
            watchPace()
        } catch {
            context.reactor.schedule(after: .zero) { self.end(error) }
        }
    }

    /// Ends it as soon as may be.
    func interrupt() {
        stop(.failure(FetchFailure(.interrupted, "interrupted")))
    }

    func stop(_ forced: Forced) {
        if self.forced == nil { self.forced = forced }
        exchange?.cancel()
        guard let raw, case .failure(let failure) = self.forced else { return }
        raw.stop()
        rawDidEnd(failure)
    }

    private func open() throws(FetchFailure) {
        output = try outputFile()
        var offset: UInt64 = 0
        switch settings.continueAt {
        case nil: break
        case .offset(let value): offset = value
        case .endOfFile: offset = output?.path.map { FileTime.byteCount(of: $0) } ?? 0
        }
        builder = RequestBuilder(plan: plan, resumeOffset: offset)
        cookies = try context.cookies(settings)
        if let path = settings.headFile, headOutput == nil {
            headOutput = context.headOutput(path)
            try headOutput?.open()
        }
    }

    private func outputFile() throws(FetchFailure) -> OutputFile {
        switch plan.output {
        case nil: return context.standardOutput
        case .file(let name):
            return name == "-" ? context.standardOutput : file(name)
        case .remoteName:
            guard let name = URLText.lastSegment(of: plan.url) else {
                if settings.savesByType || settings.usesHeaderName { return file("index") }
                throw FetchFailure(.write, "Remote file name has no length!")
            }
            return file(name)
        }
    }

    func file(_ name: String, mayReplace: Bool = true) -> OutputFile {
        OutputFile(
            path: settings.outputFolder.map { "\($0)/\(name)" } ?? name,
            appends: settings.continueAt != nil,
            makesFolders: settings.createsFolders,
            mayReplace: mayReplace
        )
    }

    // MARK: What is shown

    /// A head as it is shown with the body, kept apart, and traced.
    func show(_ head: HTTPResponseHead) throws(FetchFailure) {
        guard head.version >= .http10 else { return }
        let bytes = HeadText.bytes(of: head)
        facts.headByteCount += bytes.count
        context.trace.receivedHead(bytes)
        if settings.includesHead || settings.isHead { try output?.write(bytes.span.bytes) }
        try headOutput?.write(bytes.span.bytes)
    }

    /// Fields behind a body, shown as those in front of it.
    func show(_ trailers: HTTPHeaders) throws(FetchFailure) {
        let bytes = HeadText.lines(of: trailers)
        context.trace.receivedHead(bytes)
        if settings.includesHead { try output?.write(bytes.span.bytes) }
        try headOutput?.write(bytes.span.bytes)
    }

    // MARK: Its end

    /// Ends it, unless it is tried again.
    func end(_ failure: FetchFailure?) {
        var failure = failure
        exchange = nil
        if let output, output.isFull, failure?.code != .write {
            do throws(FetchFailure) {
                try output.flush()
            } catch {
                failure = error
            }
            if output.isFull, failure?.code != .write {
                context.reactor.schedule(after: .milliseconds(5)) { self.end(failure) }
                return
            }
        }
        if let wait = retryDelay(after: failure) {
            context.trace.note("retrying in \(wait)")
            context.reactor.schedule(after: wait) { self.start() }
            return
        }
        complete(failure)
    }

    private func complete(_ end: FetchFailure?) {
        var failure = end
        do throws(FetchFailure) {
            if failure == nil { try leaveFile() }
        } catch {
            failure = error
        }
        if failure != nil, settings.removesOnError { output?.remove() }
        self.failure = failure
        facts.exitCode = failure?.code ?? .success
        facts.errorMessage = failure?.message
        facts.total = context.reactor.now.since(began)
        facts.fileName = output?.path
        if let failure { context.tell(failure) }
        writeOut()
        completion(self)
    }

    /// Makes the file of an answer without a body, and gives it the server's time.
    private func leaveFile() throws(FetchFailure) {
        guard let output, output.path != nil else { return }
        if facts.head != nil { try output.open() }
        if settings.usesRemoteTime, let text = facts.head?.headers["Last-Modified"],
            let seconds = HTTPDate.seconds(text)
        {
            FileTime.set(seconds, of: output.descriptor)
        }
    }

    private func writeOut() {
        guard let format = settings.writeOut else { return }
        for piece in WriteOut.pieces(format, facts) {
            if piece.isError {
                StandardError.write(piece.text)
                continue
            }
            do throws(FetchFailure) {
                try context.standardOutput.write(piece.text)
            } catch {
                failure = failure ?? error
            }
        }
    }
}

/// What all transfers of a command share.
struct TransferContext {
    let reactor: Reactor
    let standardOutput: OutputFile
    let trace: TraceLog
    /// The client for these settings.
    let client: (ConnectionSettings) throws(FetchFailure) -> HTTPClient
    /// The cookies of a group of options, if it wants any.
    let cookies: (Settings) throws(FetchFailure) -> CookieStore?
    /// Where heads go that are kept apart.
    let headOutput: (String) -> OutputFile
    /// Says why a transfer failed.
    let tell: (FetchFailure) -> Void
    /// Whether each transfer says how far it is.
    let showsProgress: Bool
    /// Tells each callback, where that is asked for.
    let event: (String) -> Void
}

/// Heads as they came.
enum HeadText {
    static func bytes(of head: HTTPResponseHead) -> [UInt8] {
        let line = Array("\(head.version) \(head.status) \(head.reason)\r\n".utf8)
        return line + lines(of: head.headers) + Array("\r\n".utf8)
    }

    static func lines(of headers: HTTPHeaders) -> [UInt8] {
        headers.flatMap { field in
            Array("\(field.name): ".utf8) + field.value + Array("\r\n".utf8)
        }
    }
}
