extension Reactor {
    /// A descriptor that is readable when a turn is due, so that any other loop can host this one.
    ///
    /// Asking makes the reactor a hosted one. The host makes a turn without a wait whenever the
    /// descriptor is readable, and that is all it must do:
    ///
    ///     let source = DispatchSource.makeReadSource(              // Dispatch, or a run loop
    ///         fileDescriptor: try reactor.readinessDescriptor, queue: .main)
    ///     source.setEventHandler { _ = try? reactor.turn(waitingAtMost: .zero) }
    ///     source.activate()
    ///
    ///     let descriptor = try reactor.readinessDescriptor         // poll, and likewise epoll
    ///     var waits = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
    ///     while poll(&waits, 1, -1) >= 0 || errno == EINTR {
    ///         if try reactor.turn(waitingAtMost: .zero).hasEnded { break }
    ///     }
    ///
    ///     let source = try ReadinessSource(                        // another reactor
    ///         reactor: outer, descriptor: reactor.readinessDescriptor
    ///     ) { try reactor.turn(waitingAtMost: .zero) }
    ///
    /// It is readable for as long as an event, a job, work that was left over or a due timer waits,
    /// so a host that does not turn at once delays, and loses nothing. Between turns the reactor's
    /// calls make it readable, too. It is the reactor's own: watch it for reading only, do not read
    /// or close it.
    ///
    /// A reactor that is stopped ends within its next turn, and the descriptor is closed by then:
    /// its report says so by ``TurnReport/hasEnded``, and another one throws
    /// ``ReactorError/reactorStopped``. A host that goes on stops watching then, before it opens
    /// anything: what is opened next may have the same number.
    ///
    /// With a serial queue, the main one under `dispatchMain()` included, set
    /// ``Configuration/hosting`` to ``ReactorHosting/serialQueue``.
    ///
    /// - Throws: ``ReactorError/system(_:)`` if the kernel refuses a timer, or the backend has no
    ///   descriptor; ``ReactorError/wrongThread``; ``ReactorError/reactorStopped``.
    ///
    /// Source: epoll(7), timerfd_create(2).
    public var readinessDescriptor: CInt {
        get throws(ReactorError) {
            guard isOnThread || life == .fresh else {
                refuse("readinessDescriptor")
                throw .wrongThread
            }
            guard isAcceptingCalls else { throw .reactorStopped }
            let descriptor: CInt
            do {
                descriptor = try backend.makeReadinessDescriptor()
            } catch {
                throw .system(error)
            }
            guard !isHosted else { return descriptor }
            isHosted = true
            // What is set up already is found by the first turn, which is due at once.
            if life != .turning { backend.wake() }
            return descriptor
        }
    }

    /// A turn of a hosted reactor is over: the host is told when the next one is due.
    @inline(never)
    func awaitHost() {
        let isAsleep = !hasWorkLeft && jobs.beginSleep()
        backend.armReadiness(at: nextDeadline)
        if !isAsleep { backend.wake() }
        isDormant = isAsleep
    }

    /// Something is asked of the reactor between its turns: the next one is due, to see to it.
    @inline(__always)
    func noteCall() {
        if _slowPath(isDormant) { endDormancy() }
    }

    @inline(never)
    private func endDormancy() {
        isDormant = false
        backend.wake()
    }
}
