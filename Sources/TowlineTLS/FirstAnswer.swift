internal import Towline

/// An answer that the program gives, from any thread, as often as it likes; the first one counts.
final class FirstAnswer<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(@Sendable () -> Void)
        case given(Value)
    }

    private let state = Locked(State.open)

    /// The answer, if there is one.
    var value: Value? {
        state.withLock { state in
            if case .given(let value) = state { value } else { nil }
        }
    }

    /// Gives the answer, and wakes whoever awaits it.
    func give(_ value: Value) {
        let wake: (@Sendable () -> Void)? = state.withLock { state in
            switch state {
            case .open:
                state = .given(value)
                return nil
            case .awaited(let wake):
                state = .given(value)
                return wake
            case .given:
                return nil
            }
        }
        wake?()
    }

    /// Has `wake` called when the answer is there.
    ///
    /// - Returns: `false` if it is there already; then nothing is called.
    func await(_ wake: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            if case .given = state { return false }
            state = .awaited(wake)
            return true
        }
    }
}
