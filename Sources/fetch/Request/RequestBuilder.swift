internal import Towline
internal import TowlineHTTP
internal import TowlineHTTPClient

/// Options as a request.
struct RequestBuilder {
    /// What kind of request it is when no other method is named; redirects go by it.
    enum Kind {
        case get
        case head
        case post
        case put
    }

    let plan: TransferPlan
    /// How many bytes of the output are there already.
    let resumeOffset: UInt64
    /// What `Cookie` says.
    var cookies: String?

    private var settings: Settings { plan.settings }

    var kind: Kind {
        if settings.isHead { return .head }
        if plan.upload != nil { return .put }
        if !settings.form.isEmpty || (settings.data != nil && !settings.usesGet) { return .post }
        return .get
    }

    static func method(of kind: Kind) -> HTTPMethod {
        switch kind {
        case .get: .get
        case .head: .head
        case .post: .post
        case .put: .put
        }
    }

    /// The URL with its scheme, which has to be one that is allowed.
    func checkedURL() throws(FetchFailure) -> String {
        let text = URLText.withScheme(plan.url)
        let scheme = URLText.scheme(of: text)
        guard settings.protocols.contains(scheme), scheme == "http" || scheme == "https" else {
            throw FetchFailure(
                .unsupportedScheme,
                "Protocol \"\(scheme)\" not supported or disabled"
            )
        }
        return text
    }

    /// The URL that is asked for.
    func url() throws(FetchFailure) -> String {
        var text = try checkedURL()
        if let file = plan.upload { text = URLText.naming(file: file, in: text) }
        if settings.usesGet, let data = settings.data {
            text = URLText.adding(query: String(decoding: data, as: UTF8.self), to: text)
        }
        for query in settings.queries {
            do throws(UsageError) {
                text = URLText.adding(query: try Self.encoded(query), to: text)
            } catch {
                throw FetchFailure(error.code, error.message)
            }
        }
        return text
    }

    /// What `--url-query` says, encoded as `--data-urlencode` does unless a plus is in front.
    private static func encoded(_ text: String) throws(UsageError) -> String {
        if text.hasPrefix("+") { return String(text.dropFirst()) }
        var draft = Draft()
        try PostData.addEncoded(&draft, text)
        return String(decoding: draft.current.data ?? [], as: UTF8.self)
    }

    /// The request.
    func request() throws(FetchFailure) -> HTTPRequest {
        let text = try url()
        let method = settings.method.map { HTTPMethod(rawValue: $0) } ?? Self.method(of: kind)
        var request = HTTPRequest(method, text)
        let form = settings.form.isEmpty ? nil : try FormData(settings.form)
        request.body = try body(form)
        request.headers = try headers(form, &request.omittedHeaders)
        try credentials(&request, text)
        request.version = settings.usesHTTP10 ? .http10 : .http11
        if settings.usesHTTP10 { request.omittedHeaders.insert("Connection") }
        request.decodesContent = settings.isCompressed && !settings.isRaw
        request.keepsFraming = settings.isRaw
        request.maxDecodedBytes = settings.decodedLimit
        request.timeouts = timeouts
        request.redirects = redirects
        try setTarget(&request, text)
        return request
    }

    private func setTarget(_ request: inout HTTPRequest, _ text: String) throws(FetchFailure) {
        if let target = settings.requestTarget {
            request.target = target
        } else if settings.keepsPath {
            do throws(HTTPURLError) {
                request.target = try HTTPURL(text, keepsDotSegments: true).requestTarget
            } catch {
                throw FetchFailure(.malformedURL, error.description)
            }
        }
    }

    private func body(_ form: FormData?) throws(FetchFailure) -> HTTPBody {
        if let form { return form.body }
        if let file = plan.upload {
            guard file == "-" || file == "." else { return .file(path: file) }
            return .stream(length: nil) { exchange in
                (exchange.userInfo as? Transfer)?.bringInput()
            }
        }
        guard kind == .post, let data = settings.data else { return .none }
        guard asksForChunks else { return .bytes(data) }
        return .stream(length: nil) { exchange in
            (exchange.userInfo as? Transfer)?.bringData(data)
        }
    }

    /// Whether a field says that the body is to be sent in chunks although its length is known.
    var asksForChunks: Bool {
        settings.headers.compactMap(HeaderLine.init).contains { line in
            line.name.lowercased() == "transfer-encoding" && line.value?.lowercased() == "chunked"
        }
    }

    private var timeouts: HTTPTimeouts {
        var timeouts = HTTPTimeouts()
        timeouts.connect = settings.connectTimeout ?? .seconds(300)
        timeouts.tls = nil
        timeouts.sendStall = nil
        timeouts.firstByte = nil
        timeouts.bodyStall = nil
        timeouts.continueWait = settings.continueTimeout ?? .seconds(1)
        timeouts.total = settings.totalTimeout.flatMap { $0 == .zero ? nil : $0 }
        return timeouts
    }

    private var redirects: HTTPRedirectPolicy {
        var policy = HTTPRedirectPolicy.follow
        guard settings.followsRedirects else { return .show }
        policy.limit = settings.redirectLimit
        policy.allowsInsecure = settings.redirectProtocols.contains("http")
        policy.keepsCredentials = settings.trustsRedirects
        // What becomes of the method is decided when it is asked.
        policy.keepsMethodAt = [301, 302, 303]
        return policy
    }

    private func credentials(_ request: inout HTTPRequest, _ text: String) throws(FetchFailure) {
        if let token = settings.bearer {
            request.credential = .bearer(token)
        } else if let user = settings.user {
            let (name, password) = Self.parted(user)
            request.credential = credential(name, password)
        } else if settings.usesNetrc || settings.netrcFile != nil {
            guard let entry = try Netrc.entry(for: text, in: settings.netrcFile) else { return }
            request.credential = credential(entry.user, entry.password)
        }
    }

    private func credential(_ user: String, _ password: String) -> HTTPCredential {
        if settings.usesAnyAuthentication { return .anyOffered(user: user, password: password) }
        if settings.usesDigest { return .digest(user: user, password: password) }
        return .basic(user: user, password: password)
    }

    /// A user and a password, parted at the first colon.
    static func parted(_ text: String) -> (String, String) {
        guard let colon = text.firstIndex(of: ":") else { return (text, "") }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }
}
