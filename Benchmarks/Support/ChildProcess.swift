internal import Glibc

/// A process that this one has started, and ends by ending its standard input.
///
/// Its standard input and output are one socket pair; its standard error is ours, or nobody's.
final class ChildProcess {
    let id: pid_t
    private let channel: CInt
    private let name: String

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: A path, or a name that is looked for in `PATH`.
    ///   - arguments: What follows the program's name.
    ///   - hidesErrors: Whether what it complains about goes nowhere.
    init(
        _ program: String,
        _ arguments: [String],
        hidesErrors: Bool = false
    ) throws(RunFailure) {
        var ends: [CInt] = [-1, -1]
        // Close-on-exec, so that no other child holds this one's input open.
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw RunFailure("socketpair", errno: errno)
        }
        defer { close(ends[1]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        if hidesErrors {
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        }
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var id = pid_t()
        let error = posix_spawnp(&id, program, &actions, nil, &words, environ)
        guard error == 0 else {
            close(ends[0])
            throw RunFailure("starting \(program)", errno: error)
        }
        self.id = id
        channel = ends[0]
        name = arguments.prefix(2).joined(separator: " ")
    }

    deinit {
        close(channel)
        guard !hasEnded else { return }
        kill(id, SIGKILL)
        waitpid(id, nil, 0)
    }

    private var hasEnded = false

    /// What it prints first, up to the end of the line, which is not part of it.
    ///
    /// - Throws: If it ends, or `limit` passes, before the line has.
    func readLine(within limit: Duration) throws(RunFailure) -> String {
        var line: [UInt8] = []
        let deadline = ContinuousClock.now.advanced(by: limit)
        while true {
            guard let byte = try receiveByte(before: deadline) else {
                throw RunFailure("\(name) ended without a word")
            }
            guard byte != UInt8(ascii: "\n") else { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }

    /// Ends its input, and waits until it has gone.
    ///
    /// - Returns: Its exit code; `nil` if a signal ended it.
    /// - Throws: If it has not gone when `limit` has passed; it is killed then.
    func end(within limit: Duration) throws(RunFailure) -> CInt? {
        shutdown(channel, CInt(SHUT_WR))
        let deadline = ContinuousClock.now.advanced(by: limit)
        while try receiveByte(before: deadline) != nil {}
        var status: CInt = 0
        waitpid(id, &status, 0)
        hasEnded = true
        // The low seven bits name the signal, the next byte is the exit code: wait(2).
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }

    private func receiveByte(before deadline: ContinuousClock.Instant) throws(RunFailure) -> UInt8? {
        let left = max(.zero, ContinuousClock.now.duration(to: deadline)) / .milliseconds(1)
        var waiting = pollfd(fd: channel, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, CInt(left.rounded(.up))) == 1 else {
            throw RunFailure("\(name) said nothing within its time")
        }
        var byte: UInt8 = 0
        return recv(channel, &byte, 1, 0) == 1 ? byte : nil
    }
}
