internal import Glibc
internal import Towline
internal import TowlineHTTPClient

/// Runs transfers, one after the other or several at a time.
final class Runner {
    private let reactor: Reactor
    private let globals: GlobalSettings
    private let standardOutput = OutputFile(path: nil)
    private let trace: TraceLog
    private var clients: [ConnectionSettings: HTTPClient] = [:]
    private var headOutputs: [String: OutputFile] = [:]
    private var cookieStores: [[String]: CookieStore] = [:]
    private var queue: ArraySlice<TransferPlan>
    private var running: [ObjectIdentifier: Transfer] = [:]
    private var code = ExitCode.success
    private var isInterrupted = false

    init(_ plans: [TransferPlan], _ globals: GlobalSettings) throws(ReactorError) {
        reactor = try Reactor()
        self.globals = globals
        queue = plans[...]
        trace = TraceLog(globals)
    }

    /// Runs them all.
    ///
    /// - Returns: What the last one ended with that failed, or that was run.
    func run() throws -> ExitCode {
        signal(SIGPIPE, SIG_IGN)
        let signals = try SignalSource(reactor: reactor, signals: [SIGINT, SIGTERM]) { _ in
            self.interrupt()
        }
        defer { signals.stop() }
        startNext()
        try reactor.run()
        saveCookies()
        return isInterrupted ? .interrupted : code
    }

    private func interrupt() {
        isInterrupted = true
        queue = []
        for transfer in running.values { transfer.interrupt() }
        if running.isEmpty { reactor.stop() }
    }

    private func startNext() {
        let limit = globals.isParallel ? globals.parallelLimit : 1
        while running.count < limit, let plan = queue.popFirst() {
            let transfer = Transfer(plan, context) { [unowned self] in ended($0) }
            running[ObjectIdentifier(transfer)] = transfer
            transfer.start()
        }
        if running.isEmpty { reactor.stop() }
    }

    private func ended(_ transfer: Transfer) {
        running[ObjectIdentifier(transfer)] = nil
        let end = transfer.failure?.code ?? .success
        if !globals.isParallel || end != .success { code = end }
        if globals.failsEarly, end != .success {
            queue = []
            for other in running.values { other.interrupt() }
        }
        startNext()
    }

    private var context: TransferContext {
        TransferContext(
            reactor: reactor,
            standardOutput: standardOutput,
            trace: trace,
            client: { [unowned self] settings throws(FetchFailure) in try client(settings) },
            cookies: { [unowned self] settings throws(FetchFailure) in try cookies(settings) },
            headOutput: { [unowned self] in headOutput($0) },
            tell: { [globals] failure in
                guard !globals.isSilent || globals.showsErrors else { return }
                let code = failure.code.rawValue
                StandardError.write("fetch: (\(code)) \(failure.message)\n")
            },
            showsProgress: globals.showsProgress && !globals.isSilent && !globals.isParallel,
            event: { [globals] text in
                if globals.showsEvents { StandardError.write("event: \(text)\n") }
            }
        )
    }

    private func client(_ settings: ConnectionSettings) throws(FetchFailure) -> HTTPClient {
        if let client = clients[settings] { return client }
        var settings = settings
        if globals.isParallel { settings.parallelLimit = globals.parallelLimit }
        let client = try ClientBuilder.client(settings, on: reactor)
        clients[settings] = client
        return client
    }

    /// One store for all that ask for the same files.
    private func cookies(_ settings: Settings) throws(FetchFailure) -> CookieStore? {
        let files = settings.cookies.filter { !$0.contains("=") }
        let key = files + [settings.cookieJar ?? "", "\(settings.dropsSessionCookies)"]
        if let store = cookieStores[key] { return store }
        guard let store = try CookieStore(settings) else { return nil }
        cookieStores[key] = store
        return store
    }

    /// Writes the jars; that one cannot be written does not undo what was fetched.
    private func saveCookies() {
        for store in cookieStores.values {
            guard let target = store.target else { continue }
            do throws(FetchFailure) {
                let file = target == "-" ? standardOutput : OutputFile(path: target)
                try file.write(store.text)
            } catch {
                StandardError.write("fetch: cookies cannot be saved: \(error.message)\n")
            }
        }
    }

    private func headOutput(_ path: String) -> OutputFile {
        if path == "-" { return standardOutput }
        if let file = headOutputs[path] { return file }
        let file = OutputFile(path: path)
        headOutputs[path] = file
        return file
    }
}
