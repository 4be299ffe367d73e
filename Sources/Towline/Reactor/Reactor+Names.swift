extension Reactor {
    /// Looks names up for this reactor's sockets: what ``Configuration/makeResolver`` made, else
    /// the system's resolver on threads of its own.
    ///
    /// Made when it is first needed, so that a reactor without names has no thread for them.
    public var resolver: any Resolver {
        if !isOnThread, life != .fresh { refuse("resolver") }
        if let madeResolver { return madeResolver }
        let made = configuration.makeResolver.map { $0(self) } ?? makeThreadResolver()
        if life != .ended { madeResolver = made }
        return made
    }

    private func makeThreadResolver() -> ThreadResolver {
        let handle = handle
        let link = link
        let surroundings = ThreadResolver.Surroundings(
            execute: { job in handle.execute { _ in job() } },
            deliver: { number, answer in
                handle.execute { ($0.madeResolver as? ThreadResolver)?.finish(number, answer) }
            },
            schedule: { delay, work in
                guard let timer = link.reactor?.schedule(after: delay, work) else { return {} }
                return { timer.cancel() }
            },
            now: { link.reactor?.backend.now() ?? .distantFuture }
        )
        let made = ThreadResolver(
            configuration.lookups,
            idleTime: configuration.lookupIdleTime,
            surroundings,
            lookUp: configuration.addressLookup ?? SystemLookup.addresses(of:)
        )
        if life == .ended { made.close() }
        return made
    }

    /// Ends the threads that look names up, but for those that hang.
    func closeResolver() {
        (madeResolver as? ThreadResolver)?.close()
        madeResolver = nil
    }
}
