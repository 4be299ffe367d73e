import Towline

/// One event, as a value.
enum Happening: Equatable {
    case connected
    case accepted
    case received(Int)
    case reachedEnd
    case hungUp
    case sent(Int)
    case failed(SocketDirection, CInt)
    case closed
}

/// A sink that writes down what a backend tells.
final class EventLog: EventSink {
    private(set) var happenings: [(id: SocketID, what: Happening)] = []
    private(set) var received: [SocketID: [UInt8]] = [:]
    private(set) var accepted: [CInt] = []
    private(set) var waitsEnded = 0

    /// Whether a wait or a delivery runs, the only times at which anything may be told.
    var isListening = false
    private(set) var unexpected = 0

    /// What to do about each event.
    var onEvent: ((SocketID, Happening) throws -> Void)?
    /// What to do with lent bytes while they are lent.
    var onBytes: ((SocketID, RawSpan) -> Void)?
    private(set) var failure: (any Error)?

    func waitEnded(at now: MonotonicInstant) {
        waitsEnded += 1
    }

    func handle<Source: Backend>(_ event: SocketEvent, of id: SocketID, from backend: Source) {
        if !isListening { unexpected += 1 }
        switch event {
        case .connected:
            note(.connected, id)
        case .accepted(let descriptor, _):
            accepted.append(descriptor)
            note(.accepted, id)
        case .received(let bytes):
            received[id, default: []].append(contentsOf: [UInt8](bytes))
            onBytes?(id, bytes)
            note(.received(bytes.byteCount), id)
        case .reachedEnd:
            note(.reachedEnd, id)
        case .hungUp:
            note(.hungUp, id)
        case .sent(let byteCount):
            note(.sent(byteCount), id)
        case .failed(let direction, let error):
            note(.failed(direction, error.errno), id)
        case .closed:
            note(.closed, id)
        }
    }

    private func note(_ what: Happening, _ id: SocketID) {
        happenings.append((id, what))
        do { try onEvent?(id, what) } catch { failure = error }
    }

    // MARK: Looking

    /// Everything that was told of one socket.
    func events(of id: SocketID) -> [Happening] {
        happenings.compactMap { $0.id == id ? $0.what : nil }
    }

    /// Everything but bytes, which may come in any pieces.
    func turns(of id: SocketID) -> [Happening] {
        events(of: id).filter {
            switch $0 {
            case .received, .sent: false
            default: true
            }
        }
    }

    func bytes(of id: SocketID) -> [UInt8] { received[id] ?? [] }

    func sentCount(of id: SocketID) -> Int {
        events(of: id).reduce(0) { if case .sent(let count) = $1 { $0 + count } else { $0 } }
    }

    func removeAll() {
        happenings = []
        received = [:]
        accepted = []
    }
}
