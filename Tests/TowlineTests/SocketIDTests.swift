import Testing

@testable import Towline

@Suite("Socket ID") struct SocketIDTests {
    @Test("Slot and generation are what the ID was made of, up to their largest (ID1)")
    func packing() {
        for slot in [0, 1, 0xAB_CDEF, SocketID.slotLimit - 1] {
            for generation in [0, 1, 0x1234_5678, UInt32.max] {
                let id = SocketID(slot: slot, generation: generation)
                #expect(id.slot == slot)
                #expect(id.generation == generation)
            }
        }
    }

    @Test("Eight bits are left to backends, and say nothing about slot and generation (ID1)")
    func freeBits() {
        let id = SocketID(slot: SocketID.slotLimit - 1, generation: .max)
        #expect(id.rawValue >> 56 == 0)
        let marked = SocketID(rawValue: id.rawValue | 0xFF << 56)
        #expect(marked.slot == id.slot)
        #expect(marked.generation == id.generation)
    }

    @Test("Nobody's ID has generation 0")
    func nobody() {
        #expect(SocketID.none.generation == 0)
        #expect(SocketID.none.slot == 0)
    }

    @Test("The text is slot and generation")
    func description() {
        #expect(SocketID(slot: 12, generation: 1).description == "12.1")
    }
}
