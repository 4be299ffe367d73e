internal import TowlineBytes

/// A block of PEM, and where it begins.
///
/// Source: RFC 7468; RFC 1421, section 4.6, for the header of protected ones.
struct PEMBlock {
    let name: String

    /// What stands between the first line and the bytes; empty in most.
    let header: String

    let bytes: [UInt8]

    /// The offset of the block's first line.
    let offset: Int

    var isCertificate: Bool { name == "CERTIFICATE" || name == "X509 CERTIFICATE" }

    /// Whether bytes are PEM rather than anything else.
    static func isPEM(_ bytes: [UInt8]) -> Bool {
        offset(of: begin, in: bytes, from: 0) != nil
    }

    /// All blocks, in their order; text around them is passed over.
    static func blocks(in text: [UInt8]) throws(IdentityError) -> [PEMBlock] {
        var blocks: [PEMBlock] = []
        var place = 0
        while let start = offset(of: begin, in: text, from: place) {
            guard let (block, end) = block(in: text, at: start) else {
                throw .malformed(.pem, offset: start)
            }
            blocks.append(block)
            place = end
        }
        return blocks
    }

    /// The block that begins at `start`, and the offset behind it.
    private static func block(in text: [UInt8], at start: Int) -> (PEMBlock, end: Int)? {
        let nameStart = start + begin.count
        guard let nameEnd = offset(of: dashes, in: text, from: nameStart) else { return nil }
        let name = text[nameStart..<nameEnd]
        guard !name.contains(where: isNewline) else { return nil }
        let bodyStart = nameEnd + dashes.count
        let end = Array("-----END ".utf8) + name + dashes
        guard let bodyEnd = offset(of: dashes, in: text, from: bodyStart),
            text[bodyEnd...].starts(with: end)
        else { return nil }
        let lines = text[bodyStart..<bodyEnd].split(whereSeparator: isNewline)
        let header = lines.prefix(headerLineCount(of: lines))
        let digits = lines.dropFirst(header.count).joined().filter { $0 > UInt8(ascii: " ") }
        guard let bytes = Base64.decode(digits) else { return nil }
        let block = PEMBlock(
            name: String(decoding: name, as: UTF8.self),
            header: header.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined(),
            bytes: bytes,
            offset: start
        )
        return (block, bodyEnd + end.count)
    }

    /// The lines up to the last one with a colon, which no digit is.
    private static func headerLineCount(of lines: [ArraySlice<UInt8>]) -> Int {
        lines.lastIndex { $0.contains(UInt8(ascii: ":")) }.map { $0 + 1 } ?? 0
    }

    private static let begin = Array("-----BEGIN ".utf8)
    private static let dashes = Array("-----".utf8)

    private static func isNewline(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }

    private static func offset(of mark: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        var place = start
        while place < text.count, let first = text[place...].firstIndex(of: mark[0]) {
            if text[first...].starts(with: mark) { return first }
            place = first + 1
        }
        return nil
    }
}
