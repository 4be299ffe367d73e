internal import TowlineHTTP

/// One request of an exchange on its way: the first, one that a redirect leads to, or one that is
/// sent again.
struct Hop {
    /// What the caller, or the redirect, asks for.
    var request: HTTPRequest
    var url: HTTPURL
    var key: PoolKey

    /// Whether credentials and fields bound to the first origin may still be sent.
    ///
    /// Once lost they stay lost, even if the way leads back.
    var keepsCredentials = true

    /// Whether a failure of the connection was answered by sending it again.
    var wasRepeated = false

    /// Whether the server refused to be asked for its consent before the body.
    var skipsContinue = false

    /// What the server was answered that wants to know who asks, and what the proxy.
    var serverAnswer = ChallengeAnswer()
    var proxyAnswer = ChallengeAnswer()

    /// Whether the connection itself is what is asked for.
    var isTunnel = false

    /// Whether it must go over a connection that nobody used before.
    var needsNewConnection = false
}
