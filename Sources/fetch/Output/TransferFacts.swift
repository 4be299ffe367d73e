internal import TowlineHTTP

/// What there is to say of a transfer when it is over.
struct TransferFacts {
    var number = 0
    var method = "GET"
    var url = ""
    var effectiveURL = ""
    var redirectURL: String?
    var referer: String?
    var scheme = ""
    var head: HTTPResponseHead?
    var fileName: String?
    var exitCode = ExitCode.success
    var errorMessage: String?
    /// The library's number for why the server is not trusted.
    var verifyResult = 0

    var redirectCount = 0
    var connectionCount = 0
    var headByteCount = 0
    var requestByteCount: UInt64 = 0
    var receivedByteCount: UInt64 = 0
    var sentByteCount: UInt64 = 0

    var remote: Endpoint?
    var local: Endpoint?

    var lookedUp: Duration?
    var connected: Duration?
    var secured: Duration?
    var requestBegan: Duration?
    var responseBegan: Duration?
    var redirected = Duration.zero
    var total = Duration.zero

    /// One end of a connection.
    struct Endpoint: Hashable {
        var address: String
        var port: UInt16
    }

    var status: Int { head?.status ?? 0 }

    /// Bytes a second, on the whole.
    func speed(of byteCount: UInt64) -> UInt64 {
        let seconds = total / .seconds(1)
        return seconds > 0 ? UInt64(Double(byteCount) / seconds) : byteCount
    }
}
