internal import Towline

/// What a configuration stands for, built once: copies of the configuration share the box.
final class ContextBox: Sendable {
    typealias Answer = Result<TLSContext, TLSError>

    private struct State {
        var context: TLSContext?
        /// Who waits for a build that runs on a thread of its own.
        var waiting: [FirstAnswer<Answer>] = []
    }

    private let state = Locked(State())

    /// The context, if it is built.
    var context: TLSContext? { state.withLock { $0.context } }

    /// Builds what is not built, on the calling thread.
    func build(_ configuration: TLSConfiguration) throws(TLSError) -> TLSContext {
        if let context { return context }
        let built = try TLSContext(configuration.detached)
        // Where two build at the same time, the first one counts.
        return state.withLock { state in
            let context = state.context ?? built
            state.context = context
            return context
        }
    }

    /// Builds on a thread of its own, which serves everybody who asks meanwhile.
    func buildElsewhere(_ configuration: TLSConfiguration) -> FirstAnswer<Answer> {
        let answer = FirstAnswer<Answer>()
        let isFirst = state.withLock { state in
            state.waiting.append(answer)
            return state.waiting.count == 1
        }
        guard isFirst else { return answer }
        let isStarted = startThread(named: "towline-tls") { [self] in finish(configuration) }
        // Without a thread it takes the turn's time, which is better than nothing.
        if !isStarted { finish(configuration) }
        return answer
    }

    private func finish(_ configuration: TLSConfiguration) {
        let result: Answer
        do throws(TLSError) {
            result = .success(try build(configuration))
        } catch {
            result = .failure(error)
        }
        let waiting = state.withLock { state in
            let waiting = state.waiting
            state.waiting = []
            return waiting
        }
        for answer in waiting { answer.give(result) }
    }
}
