/// All options, by their names.
enum OptionTable {
    static let rows: [OptionRow] = requests + credentials + outputs + times + connections + rest

    /// The row of a long name, or of the beginning of one that no other has.
    static func row(named name: String) throws(UsageError) -> OptionRow {
        if let row = rows.first(where: { $0.name == name }) { return row }
        let candidates = rows.filter { $0.name.hasPrefix(name) }
        guard let row = candidates.first else {
            throw UsageError("option --\(name): is unknown")
        }
        guard candidates.count == 1 else {
            throw UsageError("option --\(name): is ambiguous")
        }
        return row
    }

    static func row(short: Character) -> OptionRow? {
        rows.first { $0.short == short }
    }

    /// What is asked.
    private static let requests: [OptionRow] = [
        .init("url", nil, .list(\.current.urls)),
        .init("request", "X", .text(\.current.method)),
        .init("head", "I", .flag(\.current.isHead)),
        .init("get", "G", .flag(\.current.usesGet)),
        .init("header", "H", .take(RequestOptions.addHeader)),
        .init("user-agent", "A", .text(\.current.userAgent)),
        .init("referer", "e", .text(\.current.referer)),
        .init("data", "d", .take(PostData.addText)),
        .init("data-ascii", nil, .take(PostData.addText)),
        .init("data-binary", nil, .take(PostData.addBinary)),
        .init("data-raw", nil, .take(PostData.addRaw)),
        .init("data-urlencode", nil, .take(PostData.addEncoded)),
        .init("json", nil, .take(PostData.addJSON)),
        .init("url-query", nil, .list(\.current.queries)),
        .init("form", "F", .take(RequestOptions.addForm)),
        .init("form-string", nil, .take(RequestOptions.addLiteralForm)),
        .init("upload-file", "T", .list(\.current.uploads)),
        .init("range", "r", .text(\.current.range)),
        .init("continue-at", "C", .take(RequestOptions.continueAt)),
        .init("time-cond", "z", .text(\.current.timeCondition)),
        .init("etag-save", nil, .text(\.current.entityTagTarget)),
        .init("etag-compare", nil, .text(\.current.entityTagSource)),
        .init("request-target", nil, .text(\.current.requestTarget)),
        .init("path-as-is", nil, .flag(\.current.keepsPath)),
        .init("globoff", "g", .flag(\.current.globsOff)),
        .init("compressed", nil, .flag(\.current.isCompressed)),
        .init("raw", nil, .flag(\.current.isRaw)),
        .init("http1.0", "0", .flag(\.current.usesHTTP10)),
        .init("http1.1", nil, .act { $0.current.usesHTTP10 = false }),
        .init("http0.9", nil, .flag(\.current.connection.takesHTTP09)),
        .init("http2", nil, .nothing),
        .init("http2-prior-knowledge", nil, .unavailable(takesValue: false)),
        .init("location", "L", .flag(\.current.followsRedirects)),
        .init("location-trusted", nil, .act(RequestOptions.trustLocation)),
        .init("max-redirs", nil, .take(RequestOptions.redirectLimit)),
        .init("post301", nil, .flag(\.current.keepsPost301)),
        .init("post302", nil, .flag(\.current.keepsPost302)),
        .init("post303", nil, .flag(\.current.keepsPost303)),
        .init("proto", nil, .take(RequestOptions.protocols)),
        .init("proto-redir", nil, .take(RequestOptions.redirectProtocols)),
        .init("raw-request", nil, .text(\.current.rawRequest)),
    ]

    /// Who asks.
    private static let credentials: [OptionRow] = [
        .init("user", "u", .text(\.current.user)),
        .init("basic", nil, .act(RequestOptions.basic)),
        .init("digest", nil, .flag(\.current.usesDigest)),
        .init("anyauth", nil, .flag(\.current.usesAnyAuthentication)),
        .init("oauth2-bearer", nil, .text(\.current.bearer)),
        .init("netrc", "n", .flag(\.current.usesNetrc)),
        .init("netrc-file", nil, .text(\.current.netrcFile)),
        .init("cookie", "b", .take { $0.current.cookies.append($1) }),
        .init("cookie-jar", "c", .text(\.current.cookieJar)),
        .init("junk-session-cookies", "j", .flag(\.current.dropsSessionCookies)),
    ]

    /// Where answers go.
    private static let outputs: [OptionRow] = [
        .init("output", "o", .take { $0.current.outputs.append(.file($1)) }),
        .init("remote-name", "O", .act { $0.current.outputs.append(.remoteName) }),
        .init("remote-name-all", nil, .flag(\.current.namesAllRemotely)),
        .init("remote-header-name", "J", .flag(\.current.usesHeaderName)),
        .init("output-dir", nil, .text(\.current.outputFolder)),
        .init("create-dirs", nil, .flag(\.current.createsFolders)),
        .init("include", "i", .flag(\.current.includesHead)),
        .init("dump-header", "D", .text(\.current.headFile)),
        .init("write-out", "w", .take(RequestOptions.writeOut)),
        .init("fail", "f", .flag(\.current.fails)),
        .init("fail-with-body", nil, .flag(\.current.failsWithBody)),
        .init("fail-early", nil, .flag(\.globals.failsEarly)),
        .init("remove-on-error", nil, .flag(\.current.removesOnError)),
        .init("remote-time", "R", .flag(\.current.usesRemoteTime)),
        .init("max-filesize", nil, .size(\.current.sizeLimit)),
        .init("max-decoded", nil, .size(\.current.decodedLimit)),
        .init("save-by-type", nil, .flag(\.current.savesByType)),
        .init("silent", "s", .flag(\.globals.isSilent)),
        .init("show-error", "S", .flag(\.globals.showsErrors)),
        .init("verbose", "v", .flag(\.globals.isVerbose)),
        .init("events", nil, .flag(\.globals.showsEvents)),
        .init("trace-ascii", nil, .text(\.globals.traceFile)),
        // What is shown is written at once, and without being told to nothing says how far it is.
        .init("no-buffer", "N", .nothing),
        .init("buffer", nil, .nothing),
        .init("progress-bar", "#", .flag(\.globals.showsProgress)),
        .init("progress-meter", nil, .flag(\.globals.showsProgress)),
        .init("styled-output", nil, .nothing),
    ]

    /// How long it may take, and how often it is tried.
    private static let times: [OptionRow] = [
        .init("connect-timeout", nil, .seconds(\.current.connectTimeout)),
        .init("max-time", "m", .seconds(\.current.totalTimeout)),
        .init("expect100-timeout", nil, .seconds(\.current.continueTimeout)),
        .init("limit-rate", nil, .size(\.current.rateLimit)),
        .init("speed-limit", "Y", .size(\.current.speedLimit)),
        .init("speed-time", "y", .seconds(\.current.speedTime)),
        .init("retry", nil, .take(RequestOptions.retries)),
        .init("retry-delay", nil, .seconds(\.current.retryDelay)),
        .init("retry-max-time", nil, .seconds(\.current.retryLimit)),
        .init("retry-connrefused", nil, .flag(\.current.retriesRefused)),
        .init("retry-all-errors", nil, .flag(\.current.retriesAll)),
        .init("parallel", "Z", .flag(\.globals.isParallel)),
        .init("parallel-max", nil, .take(RequestOptions.parallelLimit)),
        .init("parallel-immediate", nil, .nothing),
    ]

    /// How connections are made.
    private static let connections: [OptionRow] = [
        .init("insecure", "k", .flag(\.current.connection.isInsecure)),
        .init("cacert", nil, .text(\.current.connection.authorityFile)),
        .init("capath", nil, .text(\.current.connection.authorityFolder)),
        .init("cert", "E", .take(RequestOptions.certificate)),
        .init("cert-type", nil, .text(\.current.connection.identityType)),
        .init("key", nil, .text(\.current.connection.keyFile)),
        .init("key-type", nil, .text(\.current.connection.keyType)),
        .init("pass", nil, .text(\.current.connection.password)),
        .init("pinnedpubkey", nil, .text(\.current.connection.pins)),
        .init("tlsv1", "1", .nothing),
        .init("tlsv1.0", nil, .nothing),
        .init("tlsv1.1", nil, .nothing),
        .init("tlsv1.2", nil, .act { $0.current.connection.minimumVersion = "1.2" }),
        .init("tlsv1.3", nil, .act { $0.current.connection.minimumVersion = "1.3" }),
        .init("tls-max", nil, .take(RequestOptions.maximumVersion)),
        .init("alpn", nil, .act { $0.current.connection.offersNoProtocol = false }),
        .init("no-alpn", nil, .act { $0.current.connection.offersNoProtocol = true }),
        .init("tls-server-name", nil, .text(\.current.connection.serverName)),
        .init("resolve", nil, .list(\.current.connection.addresses)),
        .init("connect-to", nil, .list(\.current.connection.detours)),
        .init("unix-socket", nil, .text(\.current.connection.unixPath)),
        .init("ipv4", "4", .act(RequestOptions.onlyIPv4)),
        .init("ipv6", "6", .act(RequestOptions.onlyIPv6)),
        .init("interface", nil, .text(\.current.connection.interface)),
        .init(
            "happy-eyeballs-timeout-ms",
            nil,
            .number(\.current.connection.attemptDelayMilliseconds)
        ),
        .init("no-keepalive", nil, .act { $0.current.connection.keepsNoAlive = true }),
        .init("keepalive", nil, .act { $0.current.connection.keepsNoAlive = false }),
        .init("keepalive-time", nil, .number(\.current.connection.keepAliveSeconds)),
        .init("tcp-nodelay", nil, .nothing),
        .init("strict-http", nil, .flag(\.current.connection.isStrict)),
        .init("httpdns", nil, .text(\.current.connection.lookupService)),
        .init("doh-url", nil, .unavailable(takesValue: true)),
        .init("proxy", "x", .text(\.current.connection.proxy)),
        .init("proxy-user", "U", .text(\.current.connection.proxyUser)),
        .init("proxytunnel", "p", .flag(\.current.connection.tunnelsAll)),
        .init("noproxy", nil, .text(\.current.connection.proxyExceptions)),
        .init("socks5", nil, .take { $0.current.connection.proxy = "socks5://\($1)" }),
        .init("socks5-hostname", nil, .take { $0.current.connection.proxy = "socks5h://\($1)" }),
        .init("proxy-basic", nil, .nothing),
        .init("proxy-digest", nil, .unavailable(takesValue: false)),
        .init("proxy-header", nil, .list(\.current.connection.proxyHeaders)),
    ]

    /// The command itself.
    private static let rest: [OptionRow] = [
        // No file of options is read by itself.
        .init("disable", "q", .nothing),
        .init("config", "K", .take(ConfigFile.apply)),
        .init("next", ":", .act { $0.next() }),
        .init("version", "V", .flag(\.globals.showsVersion)),
        .init("help", "h", .flag(\.globals.showsHelp)),
    ]
}
