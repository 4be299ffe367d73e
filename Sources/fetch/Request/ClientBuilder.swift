internal import Glibc
internal import Towline
internal import TowlineHTTP
internal import TowlineHTTPClient
internal import TowlineTLS

/// Options as a client's configuration.
enum ClientBuilder {
    static func client(
        _ settings: ConnectionSettings,
        on reactor: Reactor
    ) throws(FetchFailure) -> HTTPClient {
        let configuration = try configuration(settings)
        guard let service = settings.lookupService else {
            return HTTPClient(reactor: reactor, configuration: configuration)
        }
        var options = HTTPLookupResolver.Options()
        options.tls = configuration.tls
        do throws(HTTPError) {
            let resolver = try HTTPLookupResolver(
                reactor: reactor,
                service: service,
                options: options
            )
            return HTTPClient(reactor: reactor, configuration: configuration, resolver: resolver)
        } catch {
            throw FetchFailure(.usage, "option --httpdns: \(FetchFailure(error).message)")
        }
    }

    static func configuration(
        _ settings: ConnectionSettings
    ) throws(FetchFailure) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.tls = try tls(settings)
        configuration.tlsServerName = settings.serverName
        configuration.decodesContent = false
        configuration.allowsHTTP09 = settings.takesHTTP09
        configuration.profile = settings.isStrict ? .strict : .standard
        configuration.unixPath = settings.unixPath
        configuration.proxy = try proxies(settings)
        configuration.connectionsPerKey = max(1, settings.parallelLimit)
        if settings.usesIPv4 { configuration.addressFamilies = [.ipv4] }
        if settings.usesIPv6 { configuration.addressFamilies = [.ipv6] }
        if let delay = settings.attemptDelayMilliseconds {
            configuration.connectionAttemptDelay = .milliseconds(delay)
        }
        if let name = settings.interface {
            configuration.interface = IPAddress(name).map { .address($0) } ?? .named(name)
        }
        if !settings.keepsNoAlive {
            let seconds = Int32(clamping: settings.keepAliveSeconds ?? 60)
            configuration.socketOptions.keepAlive = .init(
                idleSeconds: max(1, min(seconds, 32_767)),
                intervalSeconds: max(1, min(seconds, 32_767)),
                probeCount: 9
            )
        }
        for text in settings.addresses { try addAddress(text, &configuration) }
        for text in settings.detours { try addDetour(text, &configuration) }
        return configuration
    }

    // MARK: Names

    /// `HOST:PORT:ADDRESS[,ADDRESS]`; with a minus in front, none.
    private static func addAddress(
        _ text: String,
        _ configuration: inout HTTPClient.Configuration
    ) throws(FetchFailure) {
        let isRemoval = text.hasPrefix("-")
        let isMarked = isRemoval || text.hasPrefix("+")
        let fields = fields(of: isMarked ? String(text.dropFirst()) : text, count: 3)
        guard fields.count >= 2, let port = UInt16(fields[1]) else {
            throw FetchFailure(.usage, "Couldn't parse CURLOPT_RESOLVE entry '\(text)'")
        }
        let place = HTTPHostPort(fields[0], port)
        if isRemoval {
            configuration.addresses[place] = nil
            return
        }
        var addresses: [SocketAddress] = []
        for part in fields.count == 3 ? fields[2].split(separator: ",") : [] {
            let literal = part.filter { $0 != "[" && $0 != "]" }
            guard let address = IPAddress(literal) else {
                throw FetchFailure(.usage, "Resolve address '\(part)' found illegal")
            }
            addresses.append(SocketAddress(address, port: port))
        }
        configuration.addresses[place] = addresses
    }

    /// `HOST:PORT:OTHER:OTHERPORT`; what is empty means any, or the same.
    private static func addDetour(
        _ text: String,
        _ configuration: inout HTTPClient.Configuration
    ) throws(FetchFailure) {
        let fields = fields(of: text, count: 4)
        guard fields.count == 4, let from = port(fields[1]), let to = port(fields[3]) else {
            throw FetchFailure(.usage, "--connect-to \(text) has not four parts")
        }
        let target = HTTPHostPort(fields[2].isEmpty ? fields[0] : fields[2], to)
        configuration.detours[HTTPHostPort(fields[0], from)] = target
    }

    private static func port(_ text: String) -> UInt16? {
        text.isEmpty ? 0 : UInt16(text)
    }

    /// Parts at colons that stand outside of brackets, which are taken off; the last one has all
    /// the rest.
    private static func fields(of text: String, count: Int) -> [String] {
        var fields = [""]
        var isBracketed = false
        for character in text {
            switch character {
            case "[" where fields.count < count || count == 4: isBracketed = true
            case "]" where fields.count < count || count == 4: isBracketed = false
            case ":" where !isBracketed && fields.count < count: fields.append("")
            default: fields[fields.count - 1].append(character)
            }
        }
        return fields
    }

    // MARK: Proxies

    private static func proxies(
        _ settings: ConnectionSettings
    ) throws(FetchFailure) -> HTTPProxyRules {
        do throws(HTTPError) {
            var rules = HTTPProxyRules.direct
            switch settings.proxy {
            case nil: rules = try HTTPProxyRules.environment()
            case "": break
            case let text?: rules = .all(try HTTPProxy(text))
            }
            rules.forHTTP = rules.forHTTP.map { complete($0, settings) }
            rules.forHTTPS = rules.forHTTPS.map { complete($0, settings) }
            if let exceptions = settings.proxyExceptions {
                rules.exceptions = exceptions.split { $0 == "," || $0 == " " }.map(String.init)
            }
            return rules
        } catch {
            throw FetchFailure(.proxyLookup, "Unsupported proxy syntax: \(error)")
        }
    }

    /// A proxy with what other options say of it.
    private static func complete(_ proxy: HTTPProxy, _ settings: ConnectionSettings) -> HTTPProxy {
        var proxy = proxy
        proxy.tunnelsAll = settings.tunnelsAll
        if let user = settings.proxyUser {
            let (name, password) = RequestBuilder.parted(user)
            proxy.credential = .basic(user: name, password: password)
        }
        for line in settings.proxyHeaders.compactMap(HeaderLine.init) {
            guard let value = line.value else { continue }
            proxy.fields.append(HTTPHeaders.Field(name: line.name, value: value))
        }
        return proxy
    }

    // MARK: TLS

    private static func tls(
        _ settings: ConnectionSettings
    ) throws(FetchFailure) -> TLSConfiguration {
        var tls = TLSConfiguration.client
        tls.trust = try trust(settings)
        if let file = settings.identityFile { tls.identity = try identity(file, settings) }
        tls.minimumVersion = settings.minimumVersion == "1.3" ? .tls13 : .tls12
        switch settings.maximumVersion {
        case nil, "1.3": tls.maximumVersion = .tls13
        default: tls.maximumVersion = .tls12
        }
        guard tls.minimumVersion <= tls.maximumVersion else {
            throw FetchFailure(.tls, "no version of TLS is left")
        }
        return tls
    }

    private static func trust(
        _ settings: ConnectionSettings
    ) throws(FetchFailure) -> TrustPolicy {
        if settings.isInsecure { return .insecureAcceptAny }
        var policy = TrustPolicy.system
        var anchors: [Certificate] = []
        if let file = settings.authorityFile { anchors += try certificates(file) }
        if let folder = settings.authorityFolder {
            for name in names(in: folder) { anchors += try certificates("\(folder)/\(name)") }
        }
        if settings.authorityFile != nil || settings.authorityFolder != nil {
            policy.anchors = .only(anchors)
            policy.allowsPartialChains = true
        }
        if let text = settings.pins { policy.pins = try pins(text) }
        return policy
    }

    /// `sha256//BASE64`, several of them parted by semicolons.
    private static func pins(_ text: String) throws(FetchFailure) -> Set<PublicKeyPin> {
        var pins: Set<PublicKeyPin> = []
        for part in text.split(separator: ";") {
            guard part.hasPrefix("sha256//"), let pin = PublicKeyPin(String(part.dropFirst(8)))
            else { throw FetchFailure(.keyPin, "\"\(part)\" is no sha256//… of a public key") }
            pins.insert(pin)
        }
        return pins
    }

    private static func certificates(_ file: String) throws(FetchFailure) -> [Certificate] {
        do throws(IdentityError) {
            return try Certificate.certificates(file: file)
        } catch {
            throw FetchFailure(.authorityFile, "error setting certificate file \(file): \(error)")
        }
    }

    /// The files of a folder by their names.
    private static func names(in folder: String) -> [String] {
        guard let handle = opendir(folder) else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    private static func identity(
        _ file: String,
        _ settings: ConnectionSettings
    ) throws(FetchFailure) -> Identity {
        do throws(IdentityError) {
            if settings.identityType?.uppercased() == "P12" {
                return try Identity(pkcs12File: file, password: settings.password)
            }
            return try Identity(
                certificateFile: file,
                privateKeyFile: settings.keyFile,
                password: settings.password
            )
        } catch {
            throw FetchFailure(.identity, "could not load the certificate \(file): \(error)")
        }
    }
}
