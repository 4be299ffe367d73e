internal import Towline
internal import TowlineHTTP

/// A tunnel that is being asked for.
final class TunnelOpening {
    let proxy: HTTPProxy
    /// Where it is to lead.
    let place: HTTPHostPort
    var connect: ConnectHandshake?
    var socks: SOCKS5Handshake?
    /// Where it is to lead for a proxy that is given addresses: to the first that it reaches.
    var addresses: [IPAddress] = []
    /// How often a question for who asks was answered.
    var answerCount = 0
    /// What is sent to prove who asks.
    var credential: HTTPCredential?
    /// Whether it is asked for again when this connection is gone.
    var reopens = false

    init(_ proxy: HTTPProxy, to place: HTTPHostPort) {
        self.proxy = proxy
        self.place = place
        credential = proxy.credential
    }

    /// Who may ask.
    var asker: CredentialAsker { .proxy(proxy.place) }

    /// What a proxy of SOCKS is given.
    var destination: SOCKS5Handshake.Destination {
        (addresses.first ?? IPAddress(place.host)).map { .address($0) } ?? .name(place.host)
    }

    /// What is under way, in words.
    var text: String {
        let isFound = IPAddress(place.host) == nil
        let target = addresses.first.map { isFound ? "\(place) (\($0))" : "\(place)" } ?? "\(place)"
        let phase =
            socks.map { "\($0.phaseText), for \(target)" } ?? "asked for a tunnel to \(target)"
        return "the proxy \(proxy.text), \(phase)"
    }
}

/// From a connection to a proxy to one that leads through it.
extension HTTPConnection {
    /// Connects to the proxy, once it is known what it will be asked for.
    func prepareTunnel(through proxy: HTTPProxy) throws(SocketError) {
        let tunnel = TunnelOpening(proxy, to: key.place)
        self.tunnel = tunnel
        guard proxy.kind == .socks5, !proxy.resolvesNames else { return try reach(proxy.place) }
        try find(tunnel.place) { connection, addresses throws(SocketError) in
            let families = connection.client?.configuration.addressFamilies ?? []
            tunnel.addresses = addresses.compactMap(\.ipAddress).filter {
                families.contains($0.family)
            }
            guard !tunnel.addresses.isEmpty else {
                throw .resolutionFailed(host: tunnel.place.host, .noUsableAddress)
            }
            try connection.reach(proxy.place)
        }
    }

    /// The proxy is there, and is asked.
    func beginTunnel() {
        guard let tunnel, let client else { return }
        phase = .opening(.tunnelling)
        if let limit = sponsor?.timeouts.connect ?? client.configuration.timeouts.connect {
            watch = reactor.schedule(after: limit) { [weak self] in
                self?.failed(.timeout(.connect))
            }
        }
        switch tunnel.proxy.kind {
        case .http: askForTunnel()
        case .socks5: greet(tunnel)
        }
    }

    private func askForTunnel() {
        guard let tunnel, let client else { return }
        tunnel.connect = ConnectHandshake(
            profile: client.configuration.profile,
            mayAskAgain: tunnel.mayAnswer
        )
        do throws(HTTPRequestFault) {
            var authorization: [UInt8]?
            if let credential = tunnel.credential {
                authorization = try client.credentials.value(
                    of: credential,
                    for: tunnel.asker,
                    method: .connect,
                    target: tunnel.place.description
                )
            }
            let request = try ConnectHandshake.request(
                to: tunnel.place,
                userAgent: client.configuration.userAgent,
                authorization: authorization.map { String(decoding: $0, as: UTF8.self) },
                fields: tunnel.proxy.fields
            )
            sendToProxy(request)
        } catch {
            failed(.invalidRequest(error))
        }
    }

    private func greet(_ tunnel: TunnelOpening) {
        let user = tunnel.proxy.credential?.userAndPassword
        do throws(SOCKS5Fault) {
            let handshake = try SOCKS5Handshake(
                to: tunnel.destination,
                port: tunnel.place.port,
                user: user?.user,
                password: user?.password ?? ""
            )
            tunnel.socks = handshake
            sendToProxy(handshake.greeting)
        } catch {
            failed(.proxy(nil, reason: "\(tunnel.text): \(error)"))
        }
    }

    /// Sends to the proxy and waits for what it answers.
    private func sendToProxy(_ bytes: [UInt8]) {
        do throws(SocketError) {
            if !bytes.isEmpty { try socket.write(bytes) }
            if socket.currentRead == nil { try socket.read(maxLength: 64 * 1024) }
        } catch {
            // It is ending; its farewell comes.
        }
    }

    /// The proxy answers.
    func receiveTunnel(_ bytes: RawSpan) {
        guard let tunnel else { return }
        if tunnel.socks != nil {
            receiveSOCKS(bytes, tunnel)
        } else {
            receiveConnect(bytes, tunnel)
        }
    }

    private func receiveSOCKS(_ bytes: RawSpan, _ tunnel: TunnelOpening) {
        var offset = 0
        do throws(SOCKS5Fault) {
            while let step = try tunnel.socks?.receive(bytes, from: &offset) {
                switch step {
                case .wait: return sendToProxy([])
                case .send(let message): sendToProxy(message)
                case .established: return tunnelIsThere(bytes.extracting(offset...), nil)
                }
            }
        } catch {
            if case .refused = error, tunnel.addresses.count > 1 {
                // It does not reach this one; each attempt needs a connection of its own.
                tunnel.addresses.removeFirst()
                return askAgain(tunnel)
            }
            failed(.proxy(nil, reason: "\(tunnel.text): \(error)"))
        }
    }

    private func receiveConnect(_ bytes: RawSpan, _ tunnel: TunnelOpening) {
        var offset = 0
        do throws(HTTP1Fault) {
            switch try tunnel.connect?.receive(bytes, from: &offset) {
            case .wait, nil: sendToProxy([])
            case .established(let head): tunnelIsThere(bytes.extracting(offset...), head)
            case .refused(let head, let isReusable): refused(head, isReusable, tunnel)
            }
        } catch {
            failed(.proxy(nil, reason: "\(tunnel.text): \(error)"))
        }
    }

    /// The proxy made no tunnel; one that wants to know who asks is told.
    private func refused(_ head: HTTPResponseHead, _ isReusable: Bool, _ tunnel: TunnelOpening) {
        guard head.status == 407, let client, tunnel.answers(head, client.credentials) else {
            return failed(.proxy(head, reason: "\(tunnel.text): \(head.status) \(head.reason)"))
        }
        if isReusable { askForTunnel() } else { askAgain(tunnel) }
    }

    /// Asks once more, on another connection.
    private func askAgain(_ tunnel: TunnelOpening) {
        tunnel.reopens = true
        socket.disconnect()
    }

    /// The last connection to the proxy is gone, and another one is made to ask again.
    ///
    /// - Returns: Whether that is so.
    func reopens() -> Bool {
        guard let tunnel, tunnel.reopens else { return false }
        tunnel.reopens = false
        watch?.cancel()
        watch = nil
        socket.keep(self)
        do throws(SocketError) {
            try reach(tunnel.proxy.place)
        } catch {
            failed(.connect(host: triedHost, error, attempts: []))
        }
        return true
    }

    private func tunnelIsThere(_ leftover: RawSpan, _ head: HTTPResponseHead?) {
        guard let tunnel else { return }
        // Whatever comes before we have said anything is no answer to what we will say.
        guard leftover.isEmpty || key.isHandedOver else {
            let reason = "bytes came in front of what was to be sent through it"
            return failed(.proxy(head, reason: "\(tunnel.text): \(reason)"))
        }
        tunnelLeftover = [UInt8](leftover)
        watch?.cancel()
        watch = nil
        self.tunnel = nil
        do throws(SocketError) {
            try secure()
        } catch {
            failed(.connect(host: triedHost, error, attempts: []))
        }
    }

    /// What an end means while a tunnel is asked for.
    func tunnelError(_ reason: SocketError?) -> HTTPError {
        if case .reactorStopped = reason { return .cancelled }
        let words = reason.map { "\($0)" } ?? "it closed the connection"
        return .proxy(nil, reason: "\(tunnel?.text ?? "the proxy"): \(words)")
    }
}

extension HTTPCredential {
    /// The user and the password, where there are two.
    fileprivate var userAndPassword: (user: String, password: String)? {
        switch self {
        case .basic(let user, let password), .digest(let user, let password),
            .anyOffered(let user, let password):
            (user, password)
        case .bearer: nil
        }
    }
}

extension TunnelOpening {
    /// Whether there is something to say that was not sent at once.
    fileprivate var mayAnswer: Bool {
        switch proxy.credential {
        case .digest, .anyOffered: answerCount < 2
        case .basic, .bearer, nil: false
        }
    }

    /// Makes ready what answers a refusal, if there is such a thing.
    fileprivate func answers(_ head: HTTPResponseHead, _ memory: CredentialMemory) -> Bool {
        let challenges = asker.challenges(in: head)
        guard mayAnswer, let given = proxy.credential,
            answerCount == 0 || DigestCredential.isStale(challenges)
        else { return false }
        answerCount += 1
        credential = given
        if memory.learn(challenges, from: asker, for: given) { return true }
        credential = given.basic(offeredBy: challenges)
        return credential != nil
    }
}

extension IPAddress {
    fileprivate var family: AddressFamily {
        switch self {
        case .ipv4: .ipv4
        case .ipv6: .ipv6
        }
    }
}
