internal import CLinux
internal import Glibc
internal import Towline

/// A program that a test runs, with its standard output and standard error at hand.
///
/// It is killed when it is let go of, so that a failed test leaves no process behind.
public final class ChildProcess {
    /// The number of the process.
    public let id: Int32

    private var output: CapturedStream
    private var errors: CapturedStream
    private var exit: Exit?
    /// -1 if its standard input is empty, or has ended.
    private var input: CInt = -1

    /// How a process ended, and all that it wrote.
    public struct Exit: Sendable, Equatable {
        /// The exit code; `nil` if a signal ended it.
        public let code: Int32?

        /// The signal that ended it; `nil` if it ended by itself.
        public let signal: Int32?

        /// Everything on standard output.
        public let standardOutput: String

        /// Everything on standard error.
        public let standardError: String
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - path: The program's file, or a name that is looked for in `PATH`.
    ///   - arguments: What follows the program's name.
    ///   - hasInput: Whether ``send(_:)`` is its standard input; else that is empty.
    ///   - inherited: A descriptor that is its number 3.
    /// - Throws: `SystemCallError` from `posix_spawnp`.
    public init(
        _ path: String,
        _ arguments: [String] = [],
        hasInput: Bool = false,
        inherited: CInt? = nil
    ) throws {
        let output = try CapturedStream.makePair()
        let errors = try CapturedStream.makePair()
        defer {
            close(output.far)
            close(errors.far)
        }
        self.output = output.near
        self.errors = errors.near
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let inputEnds = hasInput ? try CapturedStream.makeEnds() : [-1, -1]
        defer { if hasInput { close(inputEnds[1]) } }
        input = inputEnds[0]
        if hasInput {
            posix_spawn_file_actions_adddup2(&actions, inputEnds[1], STDIN_FILENO)
        } else {
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output.far, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors.far, STDERR_FILENO)
        if let inherited { posix_spawn_file_actions_adddup2(&actions, inherited, 3) }
        // A thread of the tests may block signals; the program begins without any blocked.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var id = pid_t()
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        let result = posix_spawnp(&id, path, &actions, &attributes, &words, environ)
        guard result == 0 else { throw SystemCallError(call: "posix_spawnp", errno: result) }
        self.id = id
    }

    deinit {
        if exit == nil {
            kill(id, SIGKILL)
            waitpid(id, nil, 0)
        }
        output.close()
        errors.close()
        finishInput()
    }

    /// Types a text on its standard input.
    ///
    /// - Throws: `SystemCallError` if nobody takes it.
    public func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        let count = try check("send", Glibc.send(input, bytes, bytes.count, CInt(MSG_NOSIGNAL)))
        precondition(count == bytes.count, "a text is short enough to be taken at once")
    }

    /// Ends its standard input; a second call does nothing.
    public func finishInput() {
        if input >= 0 { _ = Glibc.close(input) }
        input = -1
    }

    /// Whether it has written a text so far, on standard output or standard error; does not wait.
    ///
    /// - Throws: `SystemCallError` if its output cannot be read.
    public func hasWritten(_ text: String) throws -> Bool {
        while !(output.hasEnded && errors.hasEnded), try receive(until: .now) {}
        return written.contains(text)
    }

    /// All that it has written so far, errors last.
    public var written: String {
        String(decoding: output.bytes, as: UTF8.self)
            + String(decoding: errors.bytes, as: UTF8.self)
    }

    /// Waits for a whole line that begins with a text.
    ///
    /// - Returns: What follows the text; `nil` if the process ended, or the time did, before it.
    /// - Throws: `SystemCallError` if its output cannot be read.
    public func readLine(
        beginningWith start: String,
        within timeout: Duration = .seconds(60)
    ) throws -> String? {
        let deadline = ContinuousClock.now + timeout
        while true {
            let lines = written.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: { $0.hasPrefix(start) }) {
                return String(line.dropFirst(start.count))
            }
            guard !output.hasEnded, try receive(until: deadline) else { return nil }
        }
    }

    /// Waits for a line on standard output.
    ///
    /// - Parameter timeout: The longest wait for it.
    /// - Returns: The line without its end; `nil` if the process ended, or the time did, before it.
    /// - Throws: `SystemCallError` if its output cannot be read.
    public func readLine(within timeout: Duration = .seconds(60)) throws -> String? {
        let deadline = ContinuousClock.now + timeout
        while !output.bytes.contains(UInt8(ascii: "\n")) {
            guard !output.hasEnded, try receive(until: deadline) else { return nil }
        }
        return String(decoding: output.bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// Sends the process a signal.
    public func send(signal: Int32) {
        kill(id, signal)
    }

    /// Waits until the process has ended.
    ///
    /// - Parameter timeout: The longest wait.
    /// - Returns: How it ended; `nil` if it runs on after the timeout.
    /// - Throws: `SystemCallError` if its output cannot be read.
    public func waitForExit(within timeout: Duration = .seconds(60)) throws -> Exit? {
        if let exit { return exit }
        let deadline = ContinuousClock.now + timeout
        // A process that has ended has let go of both.
        while !(output.hasEnded && errors.hasEnded) {
            guard try receive(until: deadline) else { return nil }
        }
        var status: CInt = 0
        try check("waitpid", waitpid(id, &status, 0))
        // waitpid(2): the low seven bits are the signal, the next byte up the code.
        let signal = status & 0x7F
        let exit = Exit(
            code: signal == 0 ? status >> 8 & 0xFF : nil,
            signal: signal == 0 ? nil : signal,
            standardOutput: String(decoding: output.bytes, as: UTF8.self),
            standardError: String(decoding: errors.bytes, as: UTF8.self)
        )
        self.exit = exit
        return exit
    }

    /// Runs a program to its end.
    ///
    /// - Returns: How it ended; `nil` if it ran on after the timeout, and was killed.
    /// - Throws: As ``init(_:_:)``.
    public static func run(
        _ path: String,
        _ arguments: [String] = [],
        within timeout: Duration = .seconds(60)
    ) throws -> Exit? {
        try ChildProcess(path, arguments).waitForExit(within: timeout)
    }

    /// Waits for output and takes it; `false` if the time is up first.
    private func receive(until deadline: ContinuousClock.Instant) throws -> Bool {
        let rest = max(.zero, deadline - .now)
        let milliseconds = CInt(rest / .milliseconds(1)) + (rest > .zero ? 1 : 0)
        var waits = [output.poll, errors.poll]
        let count = try check("poll", Glibc.poll(&waits, nfds_t(waits.count), milliseconds))
        guard count > 0 else { return false }
        if waits[0].revents != 0 { try output.receive() }
        if waits[1].revents != 0 { try errors.receive() }
        return true
    }
}

/// The near end of what a process writes to, and what has come out of it.
private struct CapturedStream {
    private(set) var bytes: [UInt8] = []
    private var descriptor: CInt

    /// Whether every process that could write has let go of the far end.
    private(set) var hasEnded = false

    /// Makes both ends.
    ///
    /// They are sockets, since pipe(2) cannot set close-on-exec at once, and a
    /// process that another test starts meanwhile would keep the far end open.
    static func makePair() throws -> (near: CapturedStream, far: CInt) {
        let ends = try makeEnds()
        return (CapturedStream(descriptor: ends[0]), ends[1])
    }

    /// Two ends of one connection.
    static func makeEnds() throws -> [CInt] {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        try check("socketpair", socketpair(AF_UNIX, type, 0, &ends))
        return ends
    }

    /// What poll(2) is asked; nothing once it has ended.
    var poll: pollfd {
        pollfd(fd: hasEnded ? -1 : descriptor, events: Int16(POLLIN), revents: 0)
    }

    mutating func receive() throws {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = try check("recv", recv(descriptor, &chunk, chunk.count, 0))
        hasEnded = count == 0
        bytes += chunk.prefix(count)
    }

    func close() {
        _ = Glibc.close(descriptor)
    }

    private init(descriptor: CInt) { self.descriptor = descriptor }
}
