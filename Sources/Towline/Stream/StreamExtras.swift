/// What a socket needs rarely; most connections never have one.
final class StreamExtras {
    var options = SocketOptions()
    var halfClosePolicy = HalfClosePolicy.finishWrites
    var userInfo: Any?

    // Limits of the write queue, in bytes.
    var writeLowWaterMark = 64 * 1024
    var writeQueueLimit = 64 * 1024 * 1024

    // Limits of what an end may wait for.
    var finishTimeout = StreamSocket.defaultFinishTimeout
    var lingerTimeout = StreamSocket.defaultLingerTimeout

    /// How many reads may be queued; `nil`, no limit.
    var maxQueuedReads: Int?

    // What a connect goes by.
    var disabledFamilies: Set<AddressFamily> = []
    var preferredFamily = FamilyPreference.system
    var connectionAttemptDelay = ConnectRace.usualDelay

    /// The host that was asked for, and how reports name it or the several addresses; both answer
    /// until the farewell has been said.
    var requestedHost: String?
    var requestedPlace: String?

    /// Outlives the connection until its farewell has been said.
    var localAddress: SocketAddress?

    /// What has secured the connection; answers until its farewell has been said.
    var formerSecurity: (any SecurityLayer)?

    // Of one connection.

    @exclusivity(unchecked) var timeouts = OperationTimeouts()
    var closingManner = ClosingManner.end
    /// Why nothing can be sent any more, also while the peer's last bytes are still read.
    var sendFailure: SocketError?
    var attempts: [ConnectAttempt] = []
    /// What queued writes send that is no single array.
    var heldOutput: [OperationID: HeldOutput] = [:]
    /// The buffers of those queued reads that have one.
    var targets = FIFO<ReadTarget>()
    /// Bytes of the current read that progress was told of.
    var readProgress = 0
    var phase = DisconnectReport.Phase.connected
    /// A connect that is under way.
    var connecting: ConnectState?
    @exclusivity(unchecked) var security: SecuredStream?

    /// How to close.
    ///
    /// After a send that failed, as a reset: an end would tell the peer that what has come is all.
    var mannerOfClosing: ClosingManner { sendFailure == nil ? closingManner : .reset }

    /// Forgets what belongs to one connection.
    func reset() {
        timeouts = OperationTimeouts()
        closingManner = .end
        sendFailure = nil
        attempts = []
        heldOutput = [:]
        targets.removeAll()
        readProgress = 0
        phase = .connected
        connecting = nil
        formerSecurity = security?.layer
        security?.leaveGate()
        security = nil
    }
}
