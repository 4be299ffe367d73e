/// How the names of files end that have a media type.
enum MediaTypeEndings {
    /// The endings that go with the value of `Content-Type`, the usual one first.
    ///
    /// There is none if the type is not known.
    static func endings(of mediaType: String) -> [String] {
        var scanner = FieldScanner(Array(mediaType.utf8))
        scanner.skipBlanks()
        let bytes = scanner.take { $0 == UInt8(ascii: ";") || $0 == 0x20 || $0 == 0x09 }
        let type = String(decoding: bytes.map(ASCII.lower), as: UTF8.self)
        if let endings = table[type] { return endings }
        if type.hasSuffix("+json") { return ["json"] }
        return type.hasSuffix("+xml") ? ["xml"] : []
    }

    private static let table: [String: [String]] = [
        "application/gzip": ["gz", "tgz"],
        "application/javascript": ["js", "mjs"],
        "application/json": ["json"],
        "application/octet-stream": [],
        "application/pdf": ["pdf"],
        "application/wasm": ["wasm"],
        "application/xhtml+xml": ["xhtml", "html"],
        "application/xml": ["xml"],
        "application/zip": ["zip"],
        "audio/mpeg": ["mp3"],
        "audio/ogg": ["ogg", "oga"],
        "audio/wav": ["wav"],
        "font/woff": ["woff"],
        "font/woff2": ["woff2"],
        "image/avif": ["avif"],
        "image/bmp": ["bmp"],
        "image/gif": ["gif"],
        "image/jpeg": ["jpg", "jpeg"],
        "image/png": ["png"],
        "image/svg+xml": ["svg"],
        "image/tiff": ["tif", "tiff"],
        "image/vnd.microsoft.icon": ["ico"],
        "image/webp": ["webp"],
        "image/x-icon": ["ico"],
        "text/css": ["css"],
        "text/csv": ["csv"],
        "text/html": ["html", "htm"],
        "text/javascript": ["js", "mjs"],
        "text/markdown": ["md"],
        "text/plain": ["txt"],
        "text/xml": ["xml"],
        "video/mp4": ["mp4", "m4v"],
        "video/webm": ["webm"],
    ]
}
