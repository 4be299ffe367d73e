internal import TowlineHTTP
internal import TowlineHTTPClient

/// What becomes of a request at a redirect, as curl has it.
///
/// A method that was named stays; what would have been a POST loses its body at 301, 302 and 303
/// unless it was told to keep it, and whatever else has one loses it at 303.
///
/// Source: curl(1), `--location`, `--request` and `--post301`.
enum RedirectCustom {
    static func request(
        _ request: HTTPRequest,
        after status: Int,
        _ settings: Settings,
        _ kind: RequestBuilder.Kind
    ) -> HTTPRequest {
        let losesBody: Bool
        switch (kind, status) {
        case (.post, 301): losesBody = !settings.keepsPost301
        case (.post, 302): losesBody = !settings.keepsPost302
        case (.post, 303): losesBody = !settings.keepsPost303
        case (.put, 303): losesBody = true
        default: losesBody = false
        }
        var next = request
        guard losesBody, !request.body.isEmpty else { return next }
        next.body = .none
        if settings.method == nil { next.method = .get }
        next.headers.removeAll { field in
            let name = field.name.lowercased()
            guard ["content-type", "content-length", "expect"].contains(name) else { return false }
            return !isGiven(name, settings)
        }
        return next
    }
}

extension RedirectCustom {
    /// Whether a field was named by whoever typed the command: it stays, as curl has it.
    private static func isGiven(_ name: String, _ settings: Settings) -> Bool {
        (settings.isJSON && name == "content-type")
            || settings.headers.contains { HeaderLine($0)?.name.lowercased() == name }
    }
}

extension HTTPBody {
    /// Whether there is none.
    fileprivate var isEmpty: Bool { if case .none = self { true } else { false } }
}
