import TestSupport
import Testing

@testable import Towline

@Suite("Socket table") struct SocketTableTests {
    private final class Owner {}

    @Test("An owner is found by its ID until it is removed, and never afterwards (ID2)")
    func lookup() throws {
        let table = Table(expectedSockets: 4)
        let owner = Owner()
        let id = try #require(table.insert(owner, kind: .stream))
        #expect(table.count == 1)
        #expect(table.slot(of: id)?.pointee.kind == .stream)
        #expect(table.slot(of: id)?.pointee.owner(as: Owner.self).takeUnretainedValue() === owner)
        #expect(table.remove(id) === owner)
        #expect(table.slot(of: id) == nil)
        #expect(table.remove(id) == nil, "only once")
        #expect(table.count == 0)
    }

    @Test("Nobody's ID, an unused slot and one beyond the table find nobody (ID2)")
    func strangers() {
        let table = Table(expectedSockets: 4)
        #expect(table.slot(of: .none) == nil)
        #expect(table.slot(of: SocketID(rawValue: 1)) == nil)
        #expect(table.slot(of: SocketID(slot: 1, generation: 1)) == nil)
        #expect(table.slot(of: SocketID(slot: SocketID.slotLimit - 1, generation: 1)) == nil)
        #expect(table.id(inSlot: 0) == nil)
        #expect(table.id(inSlot: SocketID.slotLimit) == nil)
    }

    @Test("A slot that is used again has another generation, so the old ID stays stale (ID2, ID3)")
    func generations() throws {
        let table = Table(expectedSockets: 4)
        let old = try #require(table.insert(Owner(), kind: .stream))
        _ = table.remove(old)
        let new = try #require(table.insert(Owner(), kind: .listener))
        #expect(new.slot == old.slot, "the warmest slot first")
        #expect(new.generation == old.generation + 1)
        #expect(table.slot(of: old) == nil)
        #expect(table.slot(of: new) != nil)
        #expect(table.remove(old) == nil)
        #expect(table.slot(of: new) != nil, "the old ID removes nobody")
        _ = table.remove(new)
    }

    @Test("A slot whose generations are used up is never given out again (ID2, ID6)")
    func retirement() throws {
        let table = Table(expectedSockets: 4, firstGeneration: .max - 2)
        var generations: [UInt32] = []
        var retired: SocketID?
        for _ in 0..<3 {
            let id = try #require(table.insert(Owner(), kind: .stream))
            #expect(id.slot == 1)
            generations.append(id.generation)
            _ = table.remove(id)
            retired = id
        }
        #expect(generations == [.max - 2, .max - 1, .max], "not one is skipped, none wraps to 0")
        for _ in 0..<100 {
            let id = try #require(table.insert(Owner(), kind: .stream))
            #expect(id.slot != 1)
            _ = table.remove(id)
        }
        let stale = try #require(retired)
        #expect(table.slot(of: stale) == nil)
        #expect(table.remove(stale) == nil)
    }

    @Test("Slots that are made as the table grows begin with the first generation, too (ID6)")
    func growth() throws {
        let table = Table(expectedSockets: 0, firstGeneration: 7)
        let owners = (0..<1_000).map { _ in Owner() }
        let ids = try owners.map { try #require(table.insert($0, kind: .plain)) }
        #expect(Set(ids).count == 1_000)
        #expect(table.count == 1_000)
        for (owner, id) in zip(owners, ids) {
            #expect(id.generation == 7)
            let found = table.slot(of: id)?.pointee.owner(as: Owner.self).takeUnretainedValue()
            #expect(found === owner, "found after the table has moved")
        }
        for id in ids { _ = table.remove(id) }
    }

    @Test("The table holds its owners, and lets go of the removed (L6)")
    func ownership() throws {
        let table = Table(expectedSockets: 4)
        weak var seen: Owner?
        let id = try {
            let owner = Owner()
            seen = owner
            return try #require(table.insert(owner, kind: .stream))
        }()
        #expect(seen != nil)
        _ = table.remove(id)
        #expect(seen == nil)
    }

    @Test("Another owner in the same slot answers to the same ID, and the first is let go of (L4)")
    func replacement() throws {
        let table = Table(expectedSockets: 4)
        weak var first: Owner?
        let id = try {
            let owner = Owner()
            first = owner
            return try #require(table.insert(owner, kind: .stream))
        }()
        let second = Owner()
        table.replaceOwner(of: id, with: second, kind: .remnant)
        #expect(first == nil)
        #expect(table.slot(of: id)?.pointee.kind == .remnant)
        #expect(table.count == 1)
        #expect(table.remove(id) === second)
        table.replaceOwner(of: id, with: second, kind: .remnant)
        #expect(table.slot(of: id) == nil, "a stale ID has no slot to be put into")
    }

    @Test("The IDs of a kind are those of its owners and of no others")
    func kinds() throws {
        let table = Table(expectedSockets: 4)
        let stream = try #require(table.insert(Owner(), kind: .stream))
        let listener = try #require(table.insert(Owner(), kind: .listener))
        let other = try #require(table.insert(Owner(), kind: .stream))
        #expect(table.ids(of: .stream) == [stream, other])
        #expect(table.ids(of: .listener) == [listener])
        #expect(table.ids(of: .plain) == [])
        _ = table.remove(stream)
        #expect(table.ids(of: .stream) == [other])
        #expect(table.id(inSlot: stream.slot) == nil)
        #expect(table.id(inSlot: other.slot) == other)
        for id in [listener, other] { _ = table.remove(id) }
    }

    @Test("Whatever comes and goes, each ID finds its owner and each stale one nobody (ID2)")
    func randomOperations() throws {
        var numbers = SeededNumbers()
        let table = Table(expectedSockets: 4, firstGeneration: .max - 3)
        var living: [(id: SocketID, owner: Owner)] = []
        var stale: [SocketID] = []
        for _ in 0..<2_000 {
            if living.isEmpty || numbers.number(in: 0..<20) < 10 {
                let owner = Owner()
                let id = try #require(table.insert(owner, kind: .stream))
                #expect(!stale.contains(id), "no ID comes twice, seed \(numbers.seed)")
                living.append((id, owner))
            } else {
                let gone = living.remove(at: numbers.number(in: 0..<living.count))
                #expect(table.remove(gone.id) === gone.owner)
                stale.append(gone.id)
            }
            #expect(table.count == living.count)
        }
        for (id, owner) in living {
            let found = table.slot(of: id)?.pointee.owner(as: Owner.self).takeUnretainedValue()
            #expect(found === owner)
        }
        #expect(stale.allSatisfy { table.slot(of: $0) == nil })
        for (id, _) in living { _ = table.remove(id) }
    }
}

/// A table that an expectation may change, and that is given back with the test.
private final class Table {
    private var table: SocketTable

    init(expectedSockets: Int, firstGeneration: UInt32 = 1) {
        table = SocketTable(expectedSockets: expectedSockets, firstGeneration: firstGeneration)
    }

    deinit {
        table.deallocate()
    }

    var count: Int { table.count }

    func slot(of id: SocketID) -> UnsafeMutablePointer<SocketTable.Slot>? { table.slot(of: id) }
    func id(inSlot number: Int) -> SocketID? { table.id(inSlot: number) }
    func ids(of kind: OwnerKind) -> [SocketID] { table.ids(of: kind) }
    func insert(_ owner: AnyObject, kind: OwnerKind) -> SocketID? {
        table.insert(owner, kind: kind)
    }
    func remove(_ id: SocketID) -> AnyObject? { table.remove(id) }
    func replaceOwner(of id: SocketID, with owner: AnyObject, kind: OwnerKind) {
        table.replaceOwner(of: id, with: owner, kind: kind)
    }
}
