internal import Glibc

/// Where bytes go: a file that is made when its first byte comes, or standard output.
///
/// A reader who is slow does not hold the loop up for long: what is not taken is kept, and the
/// caller is told to bring no more.
final class OutputFile {
    /// The longest wait for a reader, at once.
    private static let waitMilliseconds: CInt = 20

    /// The path; `nil` for standard output.
    let path: String?
    private let appends: Bool
    private let makesFolders: Bool
    private let mayReplace: Bool

    private(set) var descriptor: CInt = -1
    private var isRegular = true
    private var waiting: [UInt8] = []
    private var waitingOffset = 0

    /// Bytes that were handed over.
    private(set) var byteCount: UInt64 = 0

    init(path: String?, appends: Bool = false, makesFolders: Bool = false, mayReplace: Bool = true)
    {
        self.path = path == "-" ? nil : path
        self.appends = appends
        self.makesFolders = makesFolders
        self.mayReplace = mayReplace
    }

    deinit {
        if path != nil, descriptor >= 0 { close(descriptor) }
    }

    /// Whether bytes wait for a reader.
    var isFull: Bool { waitingOffset < waiting.count }

    /// Writes, or keeps what cannot be written yet.
    func write(_ bytes: RawSpan) throws(FetchFailure) {
        try open()
        byteCount += UInt64(bytes.byteCount)
        if isFull {
            waiting += bytes.withUnsafeBytes { Array($0) }
            return
        }
        let written = try bytes.withUnsafeBytes { bytes throws(FetchFailure) in
            try writeSome(bytes)
        }
        guard written < bytes.byteCount else { return }
        waiting = bytes.extracting(written..<bytes.byteCount).withUnsafeBytes { Array($0) }
        waitingOffset = 0
    }

    func write(_ text: String) throws(FetchFailure) {
        let bytes = Array(text.utf8)
        try write(bytes.span.bytes)
    }

    /// Writes what waits, as far as it is taken.
    func flush() throws(FetchFailure) {
        guard isFull else { return }
        let bytes = waiting
        let rest = bytes.span.bytes.extracting(waitingOffset..<bytes.count)
        let written = try rest.withUnsafeBytes { bytes throws(FetchFailure) in
            try writeSome(bytes)
        }
        waitingOffset += written
        if !isFull {
            waiting = []
            waitingOffset = 0
        }
    }

    /// Makes the file, also if no byte has come.
    func open() throws(FetchFailure) {
        guard descriptor < 0 else { return }
        guard let path else {
            descriptor = STDOUT_FILENO
            isRegular = Self.isRegular(descriptor)
            return
        }
        if makesFolders { makeFolders(path) }
        var flags = O_WRONLY | O_CREAT | O_CLOEXEC
        flags |= appends ? O_APPEND : O_TRUNC
        if !mayReplace { flags |= O_EXCL }
        descriptor = Glibc.open(path, flags, 0o666)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw FetchFailure(.write, "Failed to open the file \(path): \(reason)")
        }
        isRegular = Self.isRegular(descriptor)
    }

    /// Takes the file away.
    func remove() {
        if let path, descriptor >= 0, isRegular { unlink(path) }
    }

    private static func isRegular(_ descriptor: CInt) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    private func makeFolders(_ path: String) {
        var index = path.startIndex
        while let slash = path[index...].firstIndex(of: "/") {
            if slash > path.startIndex { mkdir(String(path[..<slash]), 0o777) }
            index = path.index(after: slash)
        }
    }

    /// Writes until all is written or the reader takes no more.
    private func writeSome(_ bytes: UnsafeRawBufferPointer) throws(FetchFailure) -> Int {
        var offset = 0
        while offset < bytes.count, isReady {
            // A pipe that is ready takes that much without blocking.
            let count = isRegular ? bytes.count - offset : min(4096, bytes.count - offset)
            let written = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: offset), count)
            if written >= 0 {
                offset += written
            } else if errno == EAGAIN {
                return offset
            } else if errno != EINTR {
                let reason = String(cString: strerror(errno))
                let place = path ?? "standard output"
                throw FetchFailure(.write, "Failure writing output to \(place): \(reason)")
            }
        }
        return offset
    }

    private var isReady: Bool {
        guard !isRegular else { return true }
        var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&wait, 1, Self.waitMilliseconds) != 0
    }
}
