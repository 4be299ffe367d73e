/// What is needed of the alphabet that the protocol is written in.
enum ASCII {
    /// The lower-case letter of an upper-case one; every other byte as it is.
    static func lower(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }
}
