internal import Towline
internal import TowlineHTTP
internal import TowlineHTTPClient
internal import TowlineTLS

/// What the command ends with, by curl's numbers.
///
/// Source: curl(1), "EXIT CODES".
enum ExitCode: Int32, Sendable {
    case success = 0
    case unsupportedScheme = 1
    case usage = 2
    case malformedURL = 3
    case proxyLookup = 5
    case lookup = 6
    case connect = 7
    case oddReply = 8
    case cutShort = 18
    case httpError = 22
    case write = 23
    case read = 26
    case timeout = 28
    case range = 33
    case tls = 35
    case resume = 36
    case redirects = 47
    case emptyReply = 52
    case send = 55
    case receive = 56
    case identity = 58
    case verification = 60
    case coding = 61
    case tooLarge = 63
    case rewind = 65
    case authorityFile = 77
    case keyPin = 90
    case http2Stream = 92
    case socks = 97
    case interrupted = 130
}

/// Why a transfer failed, in words, and the code for it.
struct FetchFailure: Error, Hashable {
    let code: ExitCode
    let message: String

    init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension FetchFailure {
    /// What an exchange's end means to the command, whose proxy, if any, is this one.
    init(_ error: HTTPError, proxy: HTTPProxy? = nil) {
        if case .handler(let inner) = error, let failure = inner as? FetchFailure {
            self = failure
            return
        }
        var code = Self.code(of: error)
        switch error {
        case .resolve(let host, _) where host == proxy?.place.host: code = .proxyLookup
        case .proxy where proxy?.kind == .socks5: code = .socks
        default: break
        }
        self.init(code, Self.text(of: error))
    }

    private static func code(of error: HTTPError) -> ExitCode {
        switch error {
        case .invalidURL(_, let reason):
            reason.contains("scheme of the URL") ? .unsupportedScheme : .malformedURL
        case .invalidRequest: .usage
        case .unreadableBody, .producer: .read
        case .unwritableFile: .write
        case .resolve: .lookup
        case .connect: .connect
        case .proxy: .receive
        case .tls(let reason): code(of: reason)
        case .verification(let reason): code(of: reason)
        case .timeout: .timeout
        case .emptyReply(let reason): reason == nil ? .emptyReply : .receive
        case .truncated(_, let expected, let reason): code(ofEnd: reason, expected != nil)
        case .malformedResponse(let fault): code(of: fault)
        case .limit(.content): .tooLarge
        case .limit(.codings): .coding
        case .limit: .receive
        case .decode: .coding
        case .range: .range
        case .tooManyRedirects: .redirects
        case .redirectRefused: .unsupportedScheme
        case .bodyNotReplayable: .rewind
        case .bodyLength: .read
        case .unexpectedUpgrade: .oddReply
        case .handler: .write
        case .cancelled: .interrupted
        @unknown default: .receive
        }
    }

    private static func code(of error: TLSError) -> ExitCode {
        switch error {
        case .untrusted(let failure):
            if case .pinMismatch = failure.reason { return .keyPin }
            return .verification
        case .identity: return .identity
        default: return .tls
        }
    }

    /// What an end within a body means: over TLS, one that nobody announced, too.
    private static func code(ofEnd reason: SocketError?, _ isCounted: Bool) -> ExitCode {
        switch reason {
        case nil: return .cutShort
        case .security(let error):
            if case .truncated = error as? TLSError, isCounted { return .cutShort }
            return .receive
        default: return .receive
        }
    }

    private static func code(of fault: HTTP1Fault) -> ExitCode {
        switch fault {
        // What does not begin as a response may be one of HTTP/0.9.
        case .statusLine(let offset): offset < 5 ? .unsupportedScheme : .oddReply
        case .version: .unsupportedScheme
        case .chunkSize, .chunkExtension, .chunkEnd: .receive
        default: .oddReply
        }
    }

    private static func text(of error: HTTPError) -> String {
        switch error {
        // Where people know curl's words.
        case .resolve(let host, let reason): "Could not resolve host: \(host) (\(reason))"
        case .timeout(let phase): "Operation timed out (\(phase.rawValue)): \(error)"
        case .emptyReply(nil): "Empty reply from server"
        case .tooManyRedirects(let limit): "Maximum (\(limit)) redirects followed"
        case .handler(let inner), .producer(let inner): "\(inner)"
        default: "\(error)"
        }
    }
}
