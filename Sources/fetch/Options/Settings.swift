/// What one group of options asks for, up to the next `--next`.
struct Settings: Sendable {
    // What is asked, and where the answer goes: the n-th of each belong together.

    var urls: [String] = []
    var outputs: [OutputChoice] = []
    var uploads: [String] = []

    // The request.

    var method: String?
    var data: [UInt8]?
    var isJSON = false
    var usesGet = false
    var isHead = false
    var form: [FormSpecification] = []
    var headers: [String] = []
    var userAgent: String?
    var referer: String?
    var queries: [String] = []
    var range: String?
    var continueAt: ContinueAt?
    var timeCondition: String?
    var requestTarget: String?
    var rawRequest: String?
    var keepsPath = false
    var globsOff = false
    var usesHTTP10 = false
    var isCompressed = false
    var isRaw = false
    var entityTagSource: String?
    var entityTagTarget: String?

    // Redirects.

    var followsRedirects = false
    var trustsRedirects = false
    var redirectLimit = 50
    var keepsPost301 = false
    var keepsPost302 = false
    var keepsPost303 = false
    var protocols: Set<String> = ["http", "https"]
    var redirectProtocols: Set<String> = ["http", "https"]

    // Who asks.

    var user: String?
    var usesDigest = false
    var usesAnyAuthentication = false
    var bearer: String?
    var usesNetrc = false
    var netrcFile: String?
    var cookies: [String] = []
    var cookieJar: String?
    var dropsSessionCookies = false

    // How the answer is shown.

    var includesHead = false
    var headFile: String?
    var writeOut: String?
    var outputFolder: String?
    var createsFolders = false
    var usesHeaderName = false
    var namesAllRemotely = false
    var usesRemoteTime = false
    var removesOnError = false
    var savesByType = false
    var fails = false
    var failsWithBody = false
    var sizeLimit: UInt64?
    var decodedLimit: UInt64?

    // How long it may take, and how fast it may be.

    var connectTimeout: Duration?
    var totalTimeout: Duration?
    var continueTimeout: Duration?
    var rateLimit: UInt64?
    var speedLimit: UInt64?
    var speedTime: Duration?
    var retries = 0
    var retryDelay: Duration?
    var retryLimit: Duration?
    var retriesRefused = false
    var retriesAll = false

    var connection = ConnectionSettings()
}

/// What decides how connections are made: groups of options with the same share one pool.
struct ConnectionSettings: Sendable, Hashable {
    var isInsecure = false
    var authorityFile: String?
    var authorityFolder: String?
    var identityFile: String?
    var identityType: String?
    var keyFile: String?
    var keyType: String?
    var password: String?
    var pins: String?
    var minimumVersion: String?
    var maximumVersion: String?
    var offersNoProtocol = false
    var serverName: String?
    var addresses: [String] = []
    var detours: [String] = []
    var unixPath: String?
    var lookupService: String?
    /// `nil`, as the environment says; empty, none.
    var proxy: String?
    var proxyUser: String?
    var proxyExceptions: String?
    var proxyHeaders: [String] = []
    var tunnelsAll = false
    var usesIPv4 = false
    var usesIPv6 = false
    var interface: String?
    var attemptDelayMilliseconds: Int?
    var keepsNoAlive = false
    var keepAliveSeconds: Int?
    var takesHTTP09 = false
    var isStrict = false
    var parallelLimit = 1
}

/// What holds for the whole command.
struct GlobalSettings: Sendable {
    var isSilent = false
    var showsErrors = false
    var isVerbose = false
    var showsEvents = false
    var showsProgress = false
    var traceFile: String?
    var failsEarly = false
    var isParallel = false
    var parallelLimit = 50
    var showsVersion = false
    var showsHelp = false
}

/// Where the body of an answer goes.
enum OutputChoice: Sendable, Hashable {
    /// To a file, or with `-` to standard output.
    case file(String)
    /// To a file named after the URL.
    case remoteName
}

/// Where a transfer goes on.
enum ContinueAt: Sendable, Hashable {
    /// Behind what the output file has already.
    case endOfFile
    case offset(UInt64)
}

/// A part of a form, as it was written.
struct FormSpecification: Sendable, Hashable {
    var text: String
    /// Whether `@`, `<` and `;` in it stand for themselves.
    var isLiteral: Bool
}
