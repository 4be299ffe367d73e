/// What goes over the connections, for `--verbose` and `--trace-ascii`.
final class TraceLog {
    private let isVerbose: Bool
    private let file: OutputFile?

    init(_ globals: GlobalSettings) {
        isVerbose = globals.isVerbose && globals.traceFile == nil
        file = globals.traceFile.map { OutputFile(path: $0) }
    }

    var isOn: Bool { isVerbose || file != nil }

    /// What happened, in words.
    func note(_ text: String) {
        if isVerbose { StandardError.write("* \(text)\n") }
        trace("== Info: \(text)\n")
    }

    func sentHead(_ bytes: [UInt8]) {
        if isVerbose { show(">", bytes) }
        dump("=> Send header", bytes)
    }

    func receivedHead(_ bytes: [UInt8]) {
        if isVerbose { show("<", bytes) }
        dump("<= Recv header", bytes)
    }

    func receivedData(_ bytes: RawSpan) {
        if file != nil { dump("<= Recv data", bytes.withUnsafeBytes { Array($0) }) }
    }

    private func show(_ mark: String, _ bytes: [UInt8]) {
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .dropLast()
        {
            StandardError.write("\(mark) \(String(decoding: line, as: UTF8.self))\n")
        }
    }

    private func dump(_ title: String, _ bytes: [UInt8]) {
        guard file != nil else { return }
        var text = "\(title), \(bytes.count) bytes (0x\(String(bytes.count, radix: 16)))\n"
        var offset = 0
        while offset < bytes.count {
            let row = bytes[offset...].prefix(64).prefix { $0 != UInt8(ascii: "\n") }
            let digits = String(offset, radix: 16)
            text += String(repeating: "0", count: max(0, 4 - digits.count)) + digits + ": "
            for byte in row where byte != UInt8(ascii: "\r") {
                let isPrintable = (0x20..<0x7F).contains(byte)
                text += isPrintable ? String(UnicodeScalar(byte)) : "."
            }
            text += "\n"
            offset += row.count
            if offset < bytes.count, bytes[offset] == UInt8(ascii: "\n") { offset += 1 }
        }
        trace(text)
    }

    private func trace(_ text: String) {
        guard let file else { return }
        do throws(FetchFailure) {
            try file.write(text)
        } catch {
            StandardError.write("fetch: \(error.message)\n")
        }
    }
}
