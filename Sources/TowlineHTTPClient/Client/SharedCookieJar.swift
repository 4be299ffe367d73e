internal import Synchronization
public import TowlineHTTP
internal import TowlineTLS

/// Cookies that clients keep and tell, one jar for all that have it in their configuration.
///
///     configuration.cookieJar = SharedCookieJar()
///
/// Each response's cookies are kept before anything follows it, those of redirects and of questions
/// for a password as well. A request tells what its URL may be told, redirects included; one whose
/// headers have a `Cookie` of the caller's tells that alone, nothing is merged.
///
/// Any thread may use it, and clients of several reactors share it.
///
/// Source: RFC 6265bis section 5.
public final class SharedCookieJar: Sendable {
    private let jar: Mutex<CookieJar>
    private let clock: @Sendable () -> Int64

    /// A jar that is shared.
    ///
    /// - Parameters:
    ///   - jar: What is in it.
    ///   - clock: Says the time, in seconds from the beginning of 1970; `nil`, the system's.
    public init(_ jar: CookieJar = CookieJar(), clock: (@Sendable () -> Int64)? = nil) {
        self.jar = Mutex(jar)
        self.clock = clock ?? { UnixTime.now.seconds }
    }

    /// The time by its clock, in seconds from the beginning of 1970.
    public var now: Int64 { clock() }

    /// What is in it now.
    public var contents: CookieJar { jar.withLock { $0 } }

    /// Changes what is in it, while nobody else looks.
    ///
    /// - Parameter change: Changes it; it must not use the shared jar.
    public func update(_ change: (inout CookieJar) -> Void) {
        jar.withLock { change(&$0) }
    }

    /// Keeps the cookies of a response.
    func store(_ headers: HTTPHeaders, from url: HTTPURL) {
        guard headers.contains("Set-Cookie") else { return }
        let now = now
        jar.withLock { _ = $0.store(headers, from: url, now: now) }
    }

    /// What a request tells.
    func field(for url: HTTPURL) -> [UInt8]? {
        let now = now
        return jar.withLock { $0.field(for: url, now: now) }
    }
}
