/// Goes through the structure of DER, to say where it breaks.
///
/// Source: X.690, section 8.1.
enum DERWalk {
    /// The offset of the first byte at which the bytes stop being one well-formed element; 0 where
    /// the structure is sound and only its meaning is not.
    static func firstFault(in bytes: [UInt8]) -> Int {
        fault(in: bytes, range: 0..<bytes.count, isOne: true, depth: 0) ?? 0
    }

    private static func fault(
        in bytes: [UInt8],
        range: Range<Int>,
        isOne: Bool,
        depth: Int
    ) -> Int? {
        var place = range.lowerBound
        while place < range.upperBound || isOne {
            guard let content = content(in: bytes, at: place, before: range.upperBound) else {
                return place
            }
            // What is nested deeper is no certificate's.
            let isConstructed = bytes[place] & 0x20 != 0 && depth < 16
            if isConstructed,
                let fault = fault(in: bytes, range: content, isOne: false, depth: depth + 1)
            {
                return fault
            }
            place = content.upperBound
            if isOne { return place == range.upperBound ? nil : place }
        }
        return nil
    }

    /// Where the content of the element at `place` lies; `nil` if it has none that ends in time.
    private static func content(in bytes: [UInt8], at place: Int, before end: Int) -> Range<Int>? {
        guard place + 2 <= end, bytes[place] & 0x1F != 0x1F else { return nil }
        let first = Int(bytes[place + 1])
        var start = place + 2
        var count = first
        if first >= 0x80 {
            let digits = first & 0x7F
            guard (1...4).contains(digits), start + digits <= end else { return nil }
            count = bytes[start..<(start + digits)].reduce(0) { $0 << 8 | Int($1) }
            start += digits
        }
        guard count <= end - start else { return nil }
        return start..<(start + count)
    }
}
