// A chat of lines: whoever connects gives a name, and then each line goes to everybody.

import ExampleSupport
import Towline

/// Everybody who is there, and what they are told.
final class Chat: ServerDelegate {
    let server: Server
    let dropsSlow: Bool
    let idleTimeout: Duration
    var members: [String: Client] = [:]
    var notices: [String] = []
    var skippedCount = 0

    init(_ server: Server, _ options: Options) throws {
        self.server = server
        dropsSlow = try options.value("--slow") { ["skip": false, "drop": true][$0] } ?? false
        idleTimeout = try options.seconds("--idle-timeout") ?? .seconds(300)
    }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        let client = Client(socket, in: self)
        socket.keep(client)
        try socket.setIdleTimeout(read: idleTimeout)
        client.tell("* who are you? 1 to 20 letters, digits, - or _")
        try client.readOn()
    }

    /// One array, whatever the number of members: each socket holds it until it is sent.
    func tellAll(_ text: String) {
        let message = Array("\(text)\r\n".utf8)
        for member in members.values { member.tell(message) }
    }

    /// Who comes and goes is told together: thousands may in one turn.
    func note(_ notice: String) {
        notices.append(notice)
        guard notices.count == 1 else { return }
        server.reactor.schedule(after: .milliseconds(100)) { [self] in
            let rest = notices.count > 10 ? "; \(notices.count) in all came or left" : ""
            tellAll("* " + notices.prefix(10).joined(separator: ", ") + rest)
            notices = []
        }
    }

    func figures() -> KeyValuePairs<String, Int> {
        let waiting = members.values.map { $0.socket.pendingWriteBytes }
        return [
            "chat_members": members.count, "chat_skipped_total": skippedCount,
            "chat_queued_bytes": waiting.reduce(0, +), "chat_slowest_bytes": waiting.max() ?? 0,
        ]
    }
}

/// One connection; its socket keeps it.
final class Client: StreamSocketDelegate {
    let socket: StreamSocket
    let chat: Chat
    var name: String?
    var lines = LineBuffer(byteLimit: 1_024)
    var isAskedForLife = false

    init(_ socket: StreamSocket, in chat: Chat) { (self.socket, self.chat) = (socket, chat) }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        isAskedForLife = false
        lines.append(bytes)
        try readOn()
    }

    /// Takes a line a turn: who has much to say must not keep the others from being served.
    func readOn() throws {
        if let line = lines.takeLine() {
            take(line)
            chat.server.reactor.schedule(after: .zero) { [self] in
                // If it is about to end, nothing more is wanted of it.
                do { try readOn() } catch { socket.disconnect(.afterWrites) }
            }
        } else if lines.room > 0 {
            try socket.read(maxLength: lines.room)
        } else {
            end("a line has \(lines.byteLimit) bytes at most")
        }
    }

    func take(_ line: String) {
        if line.isEmpty { return }
        if line == "/quit" { return end("bye") }
        if let name { return chat.tellAll("\(name): \(line)") }
        let isName = line.wholeMatch(of: /[A-Za-z0-9_\-]{1,20}/) != nil
        guard isName, chat.members[line] == nil else {
            return tell("* \(isName ? "taken" : "not a name"); another one?")
        }
        name = line
        chat.members[line] = self
        tell("* welcome, \(line); /quit ends")
        chat.note("\(line) came")
    }

    /// Never waits for a client that does not read: it misses lines, or is cut.
    func tell(_ message: [UInt8]) {
        guard socket.isAboveHighWaterMark else {
            // One that is about to end refuses, and says why in its farewell.
            do { return _ = try socket.write(message) } catch { return }
        }
        chat.skippedCount += 1
        guard chat.dropsSlow else { return }
        // What this turn has written is still to be offered to the kernel.
        chat.server.reactor.schedule(after: .zero) { [socket] in
            if socket.isAboveHighWaterMark { socket.abort() }
        }
    }

    func tell(_ text: String) { tell(Array("\(text)\r\n".utf8)) }

    func end(_ reason: String) {
        tell("* \(reason)")
        socket.disconnect(.afterWrites)
        // Who reads nothing would keep it for ever.
        chat.server.reactor.schedule(after: .seconds(5)) { [socket] in socket.abort() }
    }

    func socketDidIdle(_ socket: StreamSocket, direction: IdleDirection) {
        if isAskedForLife { return end("you are not there any more") }
        isAskedForLife = true
        tell("* are you there?")
    }

    func socketShouldFinish(_ socket: StreamSocket) { end("the server ends") }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        if let name, chat.members.removeValue(forKey: name) != nil { chat.note("\(name) left") }
    }
}

@main
enum LineChat {
    static func main() {
        let help = """
              --slow POLICY    who does not read misses lines (skip) or is cut (drop); skip
              --idle-timeout SECONDS
                               who says nothing for so long is asked, and the next time cut; 300
            """
        let options = ["--slow", "--idle-timeout"]
        Server.main("line-chat", options: options, help: help) { server, options in
            let chat = try Chat(server, options)
            try server.run(chat, figures: chat.figures)
        }
    }
}
