internal import TowlineHTTP

/// A form on its way into pieces.
struct FormSource {
    /// What stands in `Content-Type`.
    let contentType: String
    /// The pieces, none of them a form.
    let pieces: [HTTPBody]

    /// Names and values in one line.
    init(fields: [(String, String)]) {
        contentType = FormEncoding.contentType
        pieces = [.bytes(FormEncoding.encode(fields.lazy.map { (name: $0.0, value: $0.1) }))]
    }

    /// Parts, with a boundary that nobody can foresee.
    init(parts: [HTTPFormPart]) throws(HTTPError) {
        var generator = SystemRandomNumberGenerator()
        do throws(HTTPRequestFault) {
            let form = try MultipartForm(
                boundary: MultipartForm.makeBoundary(using: &generator),
                parts: parts.map { part in
                    MultipartForm.Part(
                        name: part.name,
                        fileName: part.fileName,
                        contentType: part.contentType,
                        headers: Array(part.headers),
                        content: .external(byteCount: nil)
                    )
                }
            )
            contentType = form.contentType
            pieces = try form.pieces().map { piece in
                switch piece {
                case .bytes(let bytes): .bytes(bytes)
                case .content(let index, _): parts[index].content
                }
            }
        } catch {
            throw .invalidRequest(error)
        }
    }
}
