internal import Towline

extension Server {
    /// Has something done for a signal that would end the program otherwise.
    ///
    /// - Parameters:
    ///   - signal: Its number.
    ///   - body: What to do; what it throws is told on standard error.
    /// - Throws: What waiting for signals does.
    public func onSignal(_ signal: CInt, _ body: @escaping () throws -> Void) throws {
        let source = try SignalSource(reactor: reactor, signals: [signal]) { [program] _ in
            do { try body() } catch { program.complain("nothing is changed: \(error)") }
        }
        signals.append(source)
    }
}
