internal import Glibc

extension StreamSocket {
    // MARK: From the turn after the call

    /// Begins the connect that a call has asked for: with a lookup, or with the first address.
    func beginConnecting(_ reactor: Reactor) {
        guard lifecycle.phase == .connecting, let state = extras?.connecting, state.race == nil
        else { return }
        switch state.target {
        case .addresses(let addresses):
            beginRace(addresses, state, reactor)
        case .name(let name):
            let handle = reactor.handle
            let id = socketID
            reactor.resolver.resolve(name, port: state.port) { answer in
                // Whenever and from wherever it comes: a job, which finds the socket or nobody.
                handle.execute { $0.streamSocket(id)?.noteAnswer(answer, $0) }
            }
        }
    }

    /// The lookup has been answered; a second answer changes nothing.
    private func noteAnswer(
        _ answer: Result<ResolvedAddresses, ResolverError>,
        _ reactor: Reactor
    ) {
        guard lifecycle.phase == .connecting, let state = extras?.connecting, state.race == nil,
            case .name(let name) = state.target
        else { return }
        switch answer {
        case .failure(let error):
            disconnect(because: .resolutionFailed(host: name, error), reactor)
        case .success(let answer):
            let usable = state.usable(answer.addresses)
            guard !usable.isEmpty else {
                let reason: ResolverError =
                    answer.addresses.isEmpty ? .noAddress : .noUsableAddress
                disconnect(because: .resolutionFailed(host: name, reason), reactor)
                return
            }
            beginRace(usable, state, reactor)
        }
    }

    private func beginRace(
        _ addresses: [SocketAddress],
        _ state: ConnectState,
        _ reactor: Reactor
    ) {
        let extras = makeExtras()
        extras.phase = .connecting
        state.race = ConnectRace(
            addresses,
            preferring: extras.preferredFamily,
            delay: extras.connectionAttemptDelay,
            at: reactor.backend.now()
        )
        continueRace(state, reactor)
    }

    /// Its next address may be due, or one that was busy.
    func continueConnecting(_ reactor: Reactor) {
        guard let state = extras?.connecting, state.race != nil else { return }
        continueRace(state, reactor)
    }

    /// Does what the race wants done now.
    private func continueRace(_ state: ConnectState, _ reactor: Reactor) {
        // Asked anew each time: a callback may have given the connect up, or begun another one.
        while lifecycle.phase == .connecting, let extras, extras.connecting === state {
            switch state.race?.step(at: reactor.backend.now()) {
            case .start(let index):
                startAttempt(index, state, reactor)
            case .wait(let time):
                extras.timeouts[.retry] = time
                armTimer(reactor)
                return
            case .exhausted, nil:
                let errors = extras.attempts.map(\.error)
                let error = SystemCallError.mostInformative(of: errors)
                disconnect(because: error.map { .system($0) } ?? .cancelled, reactor)
                return
            }
        }
    }

    // MARK: One attempt

    private func startAttempt(_ index: Int, _ state: ConnectState, _ reactor: Reactor) {
        guard let address = state.race?.addresses[index], let extras else { return }
        guard let id = enterAttempt(index, state, reactor) else {
            let error = SystemCallError(call: "socket", errno: SystemCallError.tableIsFull)
            giveUpAttempt(index, error, state, reactor)
            return
        }
        peer = address
        do {
            let local = state.source(for: address)
            try reactor.backend.open(id, for: address, from: local, options: extras.options)
        } catch {
            giveUpAttempt(index, error, state, reactor)
            return
        }
        let isWanted = isWanted(address, id, reactor)
        guard lifecycle.phase == .connecting, extras.connecting === state else { return }
        if isWanted {
            reactor.backend.connect(id, to: address)
        } else {
            giveUpAttempt(index, nil, state, reactor)
        }
    }

    /// The attempt's ID: the socket's own where there is one address, else one of its own.
    private func enterAttempt(
        _ index: Int,
        _ state: ConnectState,
        _ reactor: Reactor
    ) -> SocketID? {
        guard !state.isAlone else { return socketID }
        let owner = ConnectingAttempt(of: socketID, at: index)
        let id = reactor.table.insert(owner, kind: .attempt)
        state.attemptIDs[index] = id
        return id
    }

    /// Asks the delegate, unless it has left that to the default.
    private func isWanted(_ address: SocketAddress, _ id: SocketID, _ reactor: Reactor) -> Bool {
        guard !isSkipping(.willConnect) else { return true }
        let descriptor = reactor.backend.descriptor(of: id) ?? -1
        var isWanted = false
        callBack(reactor) { isWanted = $0.willConnect(self, address, descriptor) }
        settle(reactor)
        return isWanted
    }

    /// An attempt has come to nothing, for the error or because nobody wants it.
    private func giveUpAttempt(
        _ index: Int,
        _ error: SystemCallError?,
        _ state: ConnectState,
        _ reactor: Reactor
    ) {
        if let error, let address = state.race?.addresses[index] {
            extras?.attempts.append(ConnectAttempt(address: address, error: error))
        }
        endAttempt(index, state, reactor)
        state.race?.failed(index, at: reactor.backend.now())
    }

    private func endAttempt(_ index: Int, _ state: ConnectState, _ reactor: Reactor) {
        guard let id = state.attemptIDs.removeValue(forKey: index) else { return }
        reactor.work.add(id, to: .close)
    }

    /// Closes the attempts that are under way, in front of the socket's own end.
    func endAttempts(_ reactor: Reactor) {
        guard let state = extras?.connecting else { return }
        for index in state.attemptIDs.keys.sorted() { endAttempt(index, state, reactor) }
    }

    /// Time is up: what is under way has not answered.
    func noteUnansweredAttempts() {
        guard let extras, let race = extras.connecting?.race else { return }
        extras.attempts += race.unfinished.map {
            ConnectAttempt(address: race.addresses[$0], error: .connectTimedOut)
        }
    }

    // MARK: What came of it

    /// The only attempt has made the connection, or one among several has and handed it over.
    func noteConnected(_ local: SocketAddress, _ reactor: Reactor) {
        guard lifecycle.connected(), let peer else { return }
        let extras = makeExtras()
        endAttempts(reactor)
        extras.connecting = nil
        extras.phase = .connected
        extras.localAddress = local
        dropTimer(reactor)
        obstacles.remove(.isNotOpen)
        obstacles.insert(.isPaused)
        beginIdling(reactor)
        reactor.counters.connected &+= 1
        callBack(reactor) { try $0.didConnect(self, peer) }
        settle(reactor)
    }

    func noteConnectFailure(_ error: SystemCallError, _ reactor: Reactor) {
        noteFailure(error, ofAttempt: 0, reactor)
    }

    /// One attempt among several has something to say.
    func noteAttempt(
        _ event: borrowing SocketEvent,
        _ attempt: ConnectingAttempt,
        _ id: SocketID,
        _ reactor: Reactor
    ) {
        guard lifecycle.phase == .connecting, let state = extras?.connecting,
            state.attemptIDs[attempt.index] == id
        else { return }
        switch event {
        case .connected(let local):
            state.attemptIDs[attempt.index] = nil
            peer = state.race?.addresses[attempt.index]
            reactor.backend.handOver(id, to: socketID)
            noteConnected(local, reactor)
        case .failed(.connecting, let error):
            noteFailure(error, ofAttempt: attempt.index, reactor)
        case .accepted, .received, .reachedEnd, .hungUp, .sent, .closed, .failed:
            break
        }
    }

    private func noteFailure(
        _ error: SystemCallError,
        ofAttempt index: Int,
        _ reactor: Reactor
    ) {
        guard lifecycle.phase == .connecting, let state = extras?.connecting, let race = state.race
        else { return }
        if error.errno == EAGAIN, case .unix = race.addresses[index] {
            // The listener's backlog is full. Nothing tells when it no longer is.
            endAttempt(index, state, reactor)
            state.race?.wasBusy(index, at: reactor.backend.now())
        } else {
            giveUpAttempt(index, error, state, reactor)
        }
        continueRace(state, reactor)
    }
}
