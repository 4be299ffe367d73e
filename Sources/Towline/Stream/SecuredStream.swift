internal import TowlineBytes

/// What a socket knows of securing its connection, from `startTLS` to its end.
///
///     queued ──▶ handshaking ◀──▶ waiting
///                     └──▶ secured
///
/// While *queued*, operations that were asked for before are still to be completed, in the clear;
/// while *waiting*, the program has to answer, and nothing may be asked of the layer.
final class SecuredStream {
    enum Phase {
        case queued
        case handshaking
        case waiting
        case secured
    }

    /// Plaintext that is handed over and not encrypted yet.
    enum Source {
        case bytes([UInt8], from: Int)
        case file(OpenFile, Range<Int>)
    }

    /// Bytes of the peer that are kept while the program has to answer, ciphertext that waits
    /// before no more is made, and plaintext that is kept without a read.
    static let window = 64 * 1024

    let layer: any SecurityLayer
    /// Operations with smaller numbers come before the handshake, in the clear.
    let barrier: OperationID
    /// `nil`: it may take as long as it likes.
    let timeout: Duration?

    @exclusivity(unchecked) var phase = Phase.queued
    /// Whether what is waited for is the program's word about the peer.
    @exclusivity(unchecked) var isAsking = false
    /// Bytes of the peer that the layer has not taken yet; `nil` mostly.
    @exclusivity(unchecked) var input: ByteBuffer?
    /// Whether the layer has more data than fitted.
    @exclusivity(unchecked) var hasMore = false
    /// Nothing more comes of the peer: it has ended in order, or the layer has failed.
    @exclusivity(unchecked) var inputIsOver = false
    /// What came behind bytes that the layer has not taken.
    @exclusivity(unchecked) var inputEnd: StreamSocket.InputEnd?
    /// The layer has failed, or said farewell: nothing is to be asked of it for the peer.
    @exclusivity(unchecked) var outputIsOver = false
    /// The layer has failed, and told the peer why.
    @exclusivity(unchecked) var hasLastWord = false
    @exclusivity(unchecked) var sources = FIFO<Source>()
    @exclusivity(unchecked) var ledger = CipherLedger()
    @exclusivity(unchecked) var recordSize = RecordSize()
    /// Whether this handshake has had its turn already.
    @exclusivity(unchecked) var hasBegun = false

    /// Counts the handshake until it is over; of accepted connections only.
    private var gate: HandshakeGate?

    init(
        _ layer: any SecurityLayer,
        barrier: OperationID,
        timeout: Duration?,
        gate: HandshakeGate?
    ) {
        gate?.enter()
        self.gate = gate
        self.layer = layer
        self.barrier = barrier
        self.timeout = timeout
    }

    /// Whether the handshake is still to come, or not over.
    var isSecuring: Bool { phase != .secured }

    /// The handshake is complete, or never will be.
    func leaveGate() {
        let left = gate
        gate = nil
        left?.leave()
    }

    /// Whether new bytes are all that there is: nothing is left to be decrypted or to be sent, and
    /// nothing has ended.
    @inline(__always)
    var isQuiet: Bool {
        phase == .secured && input == nil && !hasMore && !inputIsOver && inputEnd == nil
            && !outputIsOver && sources.isEmpty && ledger.waiting == 0
    }

    /// Whether the layer can go on without new bytes of the peer.
    var hasLeftovers: Bool { hasMore || input != nil }

    /// Whether the peer may still be about to hear why the layer has failed.
    var owesLastWord: Bool { hasLastWord && inputEnd == nil }

    func keepInput(_ bytes: RawSpan) {
        guard !bytes.isEmpty, !inputIsOver else { return }
        let buffer = input ?? ByteBuffer()
        buffer.append(bytes)
        input = buffer
    }
}
