/// Deadlines in order, with something small attached to each; told the time.
///
/// A heap with four children a node, so that it is half as deep as a binary one, and a back pointer
/// from each timer to its place, so that cancelling and moving take O(log n). Timers with the same
/// deadline come in the order they were set.
struct TimerQueue<Payload> {
    /// Names a timer; a stale one finds nobody.
    struct Key: Hashable, Sendable {
        fileprivate(set) var slot: UInt32
        fileprivate(set) var generation: UInt32
    }

    /// A key that names no timer.
    static var noKey: Key { Key(slot: .max, generation: 0) }

    private struct Node {
        var deadline: MonotonicInstant
        var sequence: UInt64
        var slot: UInt32

        static func < (left: Node, right: Node) -> Bool {
            if left.deadline != right.deadline { return left.deadline < right.deadline }
            // By difference, so that the order survives the number's wrapping.
            return Int64(bitPattern: left.sequence &- right.sequence) < 0
        }
    }

    /// Laid out so that a small payload makes 24 bytes: a server may have one for each connection.
    private struct Slot {
        var payload: Payload?
        var generation: UInt32
        var place: UInt32
    }

    private var heap: [Node] = []
    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []
    private var sequence: UInt64

    /// An empty queue.
    ///
    /// - Parameter firstSequence: Where the numbering begins; a test has it near the end.
    init(firstSequence: UInt64 = 0) {
        sequence = firstSequence
    }

    /// How many timers are set.
    var count: Int { heap.count }

    /// The earliest deadline, `nil` when nothing is set.
    var nextDeadline: MonotonicInstant? { heap.first?.deadline }

    /// Whether the timer is still set.
    func contains(_ key: Key) -> Bool { place(of: key) != nil }

    /// Sets a timer.
    mutating func insert(_ payload: Payload, at deadline: MonotonicInstant) -> Key {
        let slot: UInt32
        if let free = freeSlots.popLast() {
            slot = free
            slots[Int(slot)].payload = payload
        } else {
            slot = UInt32(slots.count)
            slots.append(Slot(payload: payload, generation: 0, place: 0))
        }
        heap.append(Node(deadline: deadline, sequence: takeSequence(), slot: slot))
        slots[Int(slot)].place = UInt32(heap.count - 1)
        siftUp(heap.count - 1)
        return Key(slot: slot, generation: slots[Int(slot)].generation)
    }

    /// Moves a timer, behind those that are set for the same deadline; does nothing for a stale
    /// one.
    mutating func move(_ key: Key, to deadline: MonotonicInstant) {
        guard let place = place(of: key) else { return }
        heap[place].deadline = deadline
        heap[place].sequence = takeSequence()
        siftDown(siftUp(place))
    }

    /// Takes a timer out; returns what was attached, `nil` for a stale one.
    @discardableResult
    mutating func remove(_ key: Key) -> Payload? {
        guard let place = place(of: key) else { return nil }
        return removeNode(at: place)
    }

    /// When the timer is due; `nil` for a stale one.
    func deadline(of key: Key) -> MonotonicInstant? {
        place(of: key).map { heap[$0].deadline }
    }

    /// What the next timer will be numbered; those set before have lesser numbers.
    var nextSequence: UInt64 { sequence }

    /// The first timer whose deadline is at or before `now` and that was set, or moved last, before
    /// the numbering reached `end`; so a batch ends although its timers set new ones for now.
    func firstDue(
        at now: MonotonicInstant,
        setBefore end: UInt64
    ) -> (key: Key, payload: Payload, deadline: MonotonicInstant)? {
        guard let first = heap.first, first.deadline <= now,
            Int64(bitPattern: first.sequence &- end) < 0
        else { return nil }
        let slot = slots[Int(first.slot)]
        guard let payload = slot.payload else {
            preconditionFailure("a timer in the heap has its slot")
        }
        return (Key(slot: first.slot, generation: slot.generation), payload, first.deadline)
    }

    /// Takes everything out, in no order.
    mutating func removeAll() -> [Payload] {
        let payloads = slots.compactMap(\.payload)
        for node in heap { retire(node.slot) }
        heap.removeAll()
        return payloads
    }

    // MARK: The heap

    private mutating func takeSequence() -> UInt64 {
        defer { sequence &+= 1 }
        return sequence
    }

    private func place(of key: Key) -> Int? {
        let index = Int(key.slot)
        guard index < slots.count, slots[index].generation == key.generation,
            slots[index].payload != nil
        else { return nil }
        return Int(slots[index].place)
    }

    private mutating func retire(_ slot: UInt32) {
        slots[Int(slot)].payload = nil
        slots[Int(slot)].generation &+= 1
        freeSlots.append(slot)
    }

    private mutating func removeNode(at place: Int) -> Payload? {
        let slot = heap[place].slot
        let payload = slots[Int(slot)].payload
        retire(slot)
        let last = heap.removeLast()
        guard place < heap.count else { return payload }
        put(last, at: place)
        siftDown(siftUp(place))
        return payload
    }

    private mutating func put(_ node: Node, at place: Int) {
        heap[place] = node
        slots[Int(node.slot)].place = UInt32(place)
    }

    @discardableResult
    private mutating func siftUp(_ start: Int) -> Int {
        let node = heap[start]
        var place = start
        while place > 0 {
            let parent = (place - 1) / 4
            guard node < heap[parent] else { break }
            put(heap[parent], at: place)
            place = parent
        }
        put(node, at: place)
        return place
    }

    private mutating func siftDown(_ start: Int) {
        let node = heap[start]
        var place = start
        while true {
            let first = place * 4 + 1
            guard first < heap.count else { break }
            var least = first
            for child in first..<min(first + 4, heap.count) where heap[child] < heap[least] {
                least = child
            }
            guard heap[least] < node else { break }
            put(heap[least], at: place)
            place = least
        }
        put(node, at: place)
    }
}
