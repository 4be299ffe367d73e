/// The classes of bytes that heads and chunk lines are made of, and how they are found in text.
enum Grammar {
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")

    /// Whether a name may hold this byte.
    ///
    /// Source: RFC 9110 section 5.6.2, `tchar`.
    @inline(__always)
    static func isToken(_ byte: UInt8) -> Bool {
        // A bit for each byte below 128.
        let bits: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return byte < 128 && (bits >> UInt64(byte & 63)) & 1 != 0
    }

    /// Whether this byte is a blank: a space or a tab.
    ///
    /// Source: RFC 9110 section 5.6.3, `OWS` and `BWS`.
    @inline(__always)
    static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    /// Whether this byte is a control: below 0x20, or 0x7F.
    ///
    /// Source: RFC 5234 appendix B.1, `CTL`.
    @inline(__always)
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

    /// Whether this byte is a decimal digit.
    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    /// What a hexadecimal digit stands for; 16 for every other byte.
    ///
    /// Source: RFC 9112 section 7.1, `chunk-size`.
    @inline(__always)
    static func hexValue(_ byte: UInt8) -> Int {
        let digit = byte &- 0x30
        if digit < 10 { return Int(digit) }
        let letter = (byte | 0x20) &- 0x61
        return letter < 6 ? Int(letter) + 10 : 16
    }

    /// The first place in `start..<end` of a byte below 0x20, or also of 0x7F if `findsDelete`;
    /// `end` if there is none.
    ///
    /// Eight bytes are looked at together. A subtraction borrows from a byte above only if this one
    /// was found, so the lowest bit that is set is always a right one.
    @inline(__always)
    static func firstControl(
        in text: RawSpan,
        from start: Int,
        to end: Int,
        findsDelete: Bool = false
    ) -> Int {
        precondition(start >= 0 && end <= text.byteCount, "a part of the text")
        var index = start
        while end &- index >= 8 {
            let word = text.word(at: index)
            var found = (word &- ones &* 0x20) & ~word & (ones &* 0x80)
            if findsDelete {
                let delete = word ^ (ones &* 0x7F)
                found |= (delete &- ones) & ~delete & (ones &* 0x80)
            }
            if found != 0 { return index &+ found.trailingZeroBitCount >> 3 }
            index &+= 8
        }
        while index < end {
            let byte = text.byte(at: index)
            if byte < 0x20 || byte == 0x7F && findsDelete { break }
            index &+= 1
        }
        return index
    }

    /// The first place in `start..<end` of a byte that no name may hold; `end` if there is none.
    ///
    /// Eight bytes are looked at together as long as they are letters and hyphens.
    @inline(__always)
    static func nameEnd(in text: RawSpan, from start: Int, to end: Int) -> Int {
        precondition(start >= 0 && end <= text.byteCount, "a part of the text")
        var index = start
        while end &- index >= 8 {
            let word = text.word(at: index)
            let low = (word & (ones &* 0x7F))
            // The high bit of each byte says what is so of it; no sum carries into the next one.
            let isAfterLetters = (low | (ones &* 0x20)) &+ (ones &* (0x80 - 0x7B))
            let isLetter = ((low | (ones &* 0x20)) &+ (ones &* (0x80 - 0x61))) & ~isAfterLetters
            let isHyphen = ~((low ^ (ones &* 0x2D)) &+ (ones &* 0x7F))
            let others = (~(isLetter | isHyphen) | word) & (ones &* 0x80)
            if others == 0 {
                index &+= 8
                continue
            }
            index &+= others.trailingZeroBitCount >> 3
            let byte = text.byte(at: index)
            guard byte != UInt8(ascii: ":"), isToken(byte) else { return index }
            index &+= 1
        }
        while index < end, isToken(text.byte(at: index)) { index &+= 1 }
        return index
    }

    /// The lowest bit of each byte of a word.
    private static var ones: UInt64 { 0x0101_0101_0101_0101 }

    /// A range without the blanks at both of its ends.
    @inline(__always)
    static func trimming(_ range: Range<Int>, of text: RawSpan) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, isBlank(text.byte(at: start)) { start &+= 1 }
        while start < end, isBlank(text.byte(at: end &- 1)) { end &-= 1 }
        return start..<end
    }
}

extension RawSpan {
    /// The byte at an offset, which has to be within the span.
    @inline(__always)
    func byte(at offset: Int) -> UInt8 {
        unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// Eight bytes from an offset on, all of them within the span; the first is the lowest.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        assert(offset >= 0 && byteCount - offset >= 8, "the word lies within the span")
        // Whoever asks has compared the offset with the end that he was given.
        return UInt64(
            littleEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
        )
    }
}
