/// Steps of the turn that work through a list of sockets.
struct TurnSteps: OptionSet {
    let rawValue: UInt8

    /// Kept bytes are to be looked at again.
    static let serveAgain = TurnSteps(rawValue: 1 << 0)
    /// Queued writes are to be handed over.
    static let flush = TurnSteps(rawValue: 1 << 1)
    /// A read's or a write's time is up, to be asked about behind the wait.
    static let expire = TurnSteps(rawValue: 1 << 2)
    /// Finished writes are to be told of.
    static let reportWrites = TurnSteps(rawValue: 1 << 3)
    /// A descriptor is to be closed.
    static let close = TurnSteps(rawValue: 1 << 4)
    /// A connect is to begin.
    static let connect = TurnSteps(rawValue: 1 << 5)
}

/// What is listed for the steps of a turn, and, in one glance, whether anything is.
final class TurnWork {
    /// The steps whose list is not empty.
    @exclusivity(unchecked) private(set) var pending: TurnSteps = []

    private let serveAgain = WorkList()
    private let flush = WorkList()
    private let expire = WorkList()
    private let reportWrites = WorkList()
    private let close = WorkList()
    private let connect = WorkList()

    /// Lists `id` for one step.
    func add(_ id: SocketID, to step: TurnSteps) {
        pending.insert(step)
        list(of: step).append(id)
    }

    /// Hands out what is listed for a step now; what is added meanwhile waits for the next time.
    ///
    /// - Parameters:
    ///   - step: One step.
    ///   - limit: The most that is handed out; the others stay first.
    ///   - body: What to do with each.
    /// - Returns: Whether anything was listed.
    func serve(_ step: TurnSteps, atMost limit: Int = .max, _ body: (SocketID) -> Void) -> Bool {
        guard pending.contains(step) else { return false }
        let list = list(of: step)
        list.serve(atMost: limit, body)
        if list.isEmpty { pending.remove(step) }
        return true
    }

    private func list(of step: TurnSteps) -> WorkList {
        switch step {
        case .serveAgain: serveAgain
        case .flush: flush
        case .expire: expire
        case .reportWrites: reportWrites
        case .close: close
        case .connect: connect
        default: preconditionFailure("one step at a time")
        }
    }
}

/// Sockets in their order.
///
/// Two arrays that change places, so that a step works on what was there when it began. They are
/// counted apart and never emptied, so that in steady state nothing is allocated or moved.
final class WorkList {
    @exclusivity(unchecked) private var filling: [SocketID] = []
    @exclusivity(unchecked) private var count = 0
    @exclusivity(unchecked) private var draining: [SocketID] = []

    var isEmpty: Bool { count == 0 }

    func append(_ id: SocketID) {
        if count < filling.count {
            filling[count] = id
        } else {
            filling.append(id)
        }
        count += 1
    }

    /// Hands out what is there now, at most `limit` entries; the others stay first.
    func serve(atMost limit: Int = .max, _ body: (SocketID) -> Void) {
        let found = count
        let served = min(limit, found)
        swap(&filling, &draining)
        count = 0
        // Those that are not served come first next time, before any that are added now.
        for index in served..<found { append(draining[index]) }
        for index in 0..<served { body(draining[index]) }
    }
}
