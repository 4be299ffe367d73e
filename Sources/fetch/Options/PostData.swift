/// The options that say what is posted.
///
/// Source: curl(1), `--data` and its relatives.
enum PostData {
    /// `--data`: of a file, without its line ends.
    static func addText(_ draft: inout Draft, _ text: String) throws(UsageError) {
        let dropped: Set<UInt8> = [0x0A, 0x0D, 0]
        let bytes = try bytes(&draft, text)
        try add(&draft, text.hasPrefix("@") ? bytes.filter { !dropped.contains($0) } : bytes)
    }

    static func addBinary(_ draft: inout Draft, _ text: String) throws(UsageError) {
        try add(&draft, try bytes(&draft, text))
    }

    static func addRaw(_ draft: inout Draft, _ text: String) throws(UsageError) {
        try add(&draft, Array(text.utf8))
    }

    static func addJSON(_ draft: inout Draft, _ text: String) throws(UsageError) {
        let bytes = try bytes(&draft, text)
        draft.current.data = (draft.current.data ?? []) + bytes
        draft.current.isJSON = true
    }

    /// `content`, `=content`, `name=content`, `@file` and `name@file`.
    static func addEncoded(_ draft: inout Draft, _ text: String) throws(UsageError) {
        let mark = text.firstIndex(of: "=") ?? text.firstIndex(of: "@")
        guard let mark else { return try add(&draft, FormEncoding.form(Array(text.utf8))) }
        let name = text[..<mark]
        let value = String(text[text.index(after: mark)...])
        let content = text[mark] == "@" ? try draft.files.read(value) : Array(value.utf8)
        let encoded = FormEncoding.form(content)
        try add(&draft, name.isEmpty ? encoded : Array(name.utf8) + Array("=".utf8) + encoded)
    }

    private static func bytes(_ draft: inout Draft, _ text: String) throws(UsageError) -> [UInt8] {
        text.hasPrefix("@")
            ? try draft.files.read(String(text.dropFirst())) : Array(text.utf8)
    }

    /// Behind what there is already, parted as the fields of a form are.
    private static func add(_ draft: inout Draft, _ bytes: [UInt8]) throws(UsageError) {
        if let data = draft.current.data {
            draft.current.data = data + Array("&".utf8) + bytes
        } else {
            draft.current.data = bytes
        }
    }
}

/// What is not a letter, a digit or one of `-._~` as `%XX`.
enum FormEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)
    private static let plain = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8
    )

    /// The same with a plus for a space, as forms have it.
    static func form(_ bytes: [UInt8]) -> [UInt8] {
        bytes.flatMap { $0 == UInt8(ascii: " ") ? [UInt8(ascii: "+")] : encode([$0]) }
    }

    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        bytes.flatMap { byte -> [UInt8] in
            guard !plain.contains(byte) else { return [byte] }
            return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }
}
