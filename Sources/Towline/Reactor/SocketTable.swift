/// What a slot of the table stands for.
enum OwnerKind: UInt8 {
    case free
    case stream
    case listener
    case plain
    /// One attempt of a stream to connect, among several.
    case attempt
    /// Something that only waits for its descriptor to be closed.
    case remnant

    /// Whether a drain waits for it.
    var isOfService: Bool { self == .stream || self == .listener }
}

/// Finds the owner of a ``SocketID``: an array access and one comparison.
///
/// The table holds each owner strongly from ``insert(_:kind:)`` until ``remove(_:)``, and is the
/// one place that keeps unmanaged references to them: an owner is alive for as long as its slot is
/// taken. A removed owner goes to the reactor's graveyard and lives until the end of the turn, so a
/// call into it may run while it is being removed.
struct SocketTable {
    struct Slot {
        fileprivate(set) var owner: Unmanaged<AnyObject>?
        fileprivate(set) var generation: UInt32
        fileprivate(set) var kind: OwnerKind

        /// The owner as what `kind` says it is.
        @inline(__always)
        func owner<Owner: AnyObject>(as type: Owner.Type) -> Unmanaged<Owner> {
            // A slot that is taken has an owner, and `kind` was stored beside it.
            Unmanaged.fromOpaque(owner.unsafelyUnwrapped.toOpaque())
        }
    }

    /// `capacity` slots are initialised.
    private(set) var slots: UnsafeMutablePointer<Slot>
    private(set) var capacity: Int

    /// Slots that have been given back, the last one to be used first: it is the warmest.
    private var freeSlots: [UInt32] = []

    /// Slots below this number have been used at some time.
    ///
    /// Slot 0 is nobody's, so that the ID 1 and 0 are nobody's either.
    private(set) var usedSlots = 1

    /// How many owners there are, and how many of them are connections and listeners.
    private(set) var count = 0
    private(set) var serviceCount = 0

    /// Where generations begin; a test has it near the end, to see them run out.
    private let firstGeneration: UInt32

    init(expectedSockets: Int, firstGeneration: UInt32 = 1) {
        capacity = max(expectedSockets + 1, 16)
        self.firstGeneration = firstGeneration
        slots = .allocate(capacity: capacity)
        slots.initialize(
            repeating: Slot(owner: nil, generation: firstGeneration, kind: .free),
            count: capacity
        )
    }

    /// Gives the memory back; the table must be empty.
    mutating func deallocate() {
        precondition(count == 0, "every owner has been removed")
        slots.deallocate()
        capacity = 0
    }

    /// The slot of an ID that is in use; `nil` for a stale one.
    @inline(__always)
    func slot(of id: SocketID) -> UnsafeMutablePointer<Slot>? {
        let number = id.slot
        guard number < capacity else { return nil }
        // In bounds by the line above.
        let slot = slots + number
        guard slot.pointee.generation == id.generation, slot.pointee.kind != .free else {
            return nil
        }
        return slot
    }

    /// The ID of whoever sits in the slot, if anybody does.
    func id(inSlot number: Int) -> SocketID? {
        guard number < capacity, slots[number].kind != .free else { return nil }
        return SocketID(slot: number, generation: slots[number].generation)
    }

    /// The IDs of all owners of one kind.
    func ids(of kind: OwnerKind) -> [SocketID] {
        (1..<usedSlots).compactMap { slots[$0].kind == kind ? id(inSlot: $0) : nil }
    }

    /// Takes a slot for `owner`; `nil` when all 16,777,215 are taken.
    mutating func insert(_ owner: AnyObject, kind: OwnerKind) -> SocketID? {
        let number: Int
        if let free = freeSlots.popLast() {
            number = Int(free)
        } else {
            guard usedSlots < SocketID.slotLimit else { return nil }
            if usedSlots == capacity { grow() }
            number = usedSlots
            usedSlots += 1
        }
        slots[number].owner = .passRetained(owner)
        slots[number].kind = kind
        count += 1
        if kind.isOfService { serviceCount += 1 }
        return SocketID(slot: number, generation: slots[number].generation)
    }

    /// Frees the slot and moves its generation on; the owner is the caller's to let go of.
    mutating func remove(_ id: SocketID) -> AnyObject? {
        guard let slot = slot(of: id), let owner = slot.pointee.owner else { return nil }
        if slot.pointee.kind.isOfService { serviceCount -= 1 }
        slot.pointee.owner = nil
        slot.pointee.kind = .free
        count -= 1
        // A slot whose generations are used up is never given out again.
        if slot.pointee.generation < UInt32.max {
            slot.pointee.generation += 1
            freeSlots.append(UInt32(id.slot))
        }
        return owner.takeRetainedValue()
    }

    /// Puts another owner into a slot that is in use; the one before is the caller's to let go of.
    mutating func replaceOwner(of id: SocketID, with owner: AnyObject, kind: OwnerKind) {
        guard let slot = slot(of: id) else { return }
        if slot.pointee.kind.isOfService { serviceCount -= 1 }
        if kind.isOfService { serviceCount += 1 }
        slot.pointee.owner?.release()
        slot.pointee.owner = .passRetained(owner)
        slot.pointee.kind = kind
    }

    private mutating func grow() {
        let newCapacity = min(capacity * 2, SocketID.slotLimit)
        let larger = UnsafeMutablePointer<Slot>.allocate(capacity: newCapacity)
        larger.moveInitialize(from: slots, count: capacity)
        (larger + capacity).initialize(
            repeating: Slot(owner: nil, generation: firstGeneration, kind: .free),
            count: newCapacity - capacity
        )
        slots.deallocate()
        slots = larger
        capacity = newCapacity
    }
}
