/// What a simulated network is like: how slow, how small its pieces, how scarce its descriptors.
///
/// Where there is a range, each occasion draws a value of it from the network's seed. May be
/// changed at any time; bytes that are on their way keep what was drawn for them.
public struct NetworkConditions: Sendable {
    /// The time from a send until its bytes arrive; none.
    ///
    /// Order is kept within a connection.
    public var delay: ClosedRange<Duration> = .zero ... .zero

    /// Bytes that travel together, 1 or more; 64 KiB.
    ///
    /// Each piece has a delay of its own.
    public var bytesPerSegment = 65_536...65_536

    /// The most bytes that one receive of a socket under test gives, 1 or more; no limit.
    public var bytesPerReceive = Int.max...Int.max

    /// The most bytes that one send of a socket under test takes, 1 or more; no limit.
    public var bytesPerSend = Int.max...Int.max

    /// Bytes that one direction of a connection holds before a send finds no room, 1 or more; 64
    /// KiB.
    ///
    /// Connections keep what they began with.
    public var windowByteCount = 65_536

    /// How many descriptors the process under test may have, 0 or more; 1,048,576.
    ///
    /// One too many is refused with `EMFILE`.
    public var descriptorLimit = 1_048_576

    /// Which share of calls a signal interrupts before they have done anything, 0 to less than 1;
    /// 0.
    public var interruptedShare = 0.0

    /// Which share of receives, sends and accepts finds nothing although there is something, 0 to
    /// less than 1; 0.
    public var blockedShare = 0.0

    /// Whether sockets that are ready at the same time are served in a random order; `false`.
    public var shufflesEvents = false

    /// The time that each wait takes at least; none.
    ///
    /// With some, a loop that never rests still sees its timers fire.
    public var timePerWait = Duration.zero

    /// Whether a wait without a limit in which nothing can happen throws `EDEADLK`; `true`.
    ///
    /// If `false`, the wait really blocks until another thread wakes the reactor.
    public var deadlockIsAnError = true

    /// A fast, calm network with plenty of everything.
    public init() {}
}
