/// Fields that many requests begin with, checked and put into bytes once for all of them.
///
///     let common = try HTTPCommonFields(["Host": "box.test", "Accept": "*/*"])
///     let bytes = try HTTP1Writer.head(head, behind: common, body: .none)
public struct HTTPCommonFields: Sendable {
    /// Their lines, as they are sent.
    let lines: [UInt8]

    /// Whether `Host` is one of them.
    let hasHost: Bool

    /// Fields that stand behind the request line, in their order, but for `Host`, which comes
    /// first.
    ///
    /// - Parameter headers: The fields; none that says how long a body is, since each request has
    ///   its own.
    /// - Throws: ``HTTPRequestFault`` for the first thing that must not be sent.
    public init(_ headers: HTTPHeaders) throws(HTTPRequestFault) {
        (lines, hasHost) = try HTTP1Writer.commonLines(headers)
    }
}
