import Glibc
import TestSupport
import Testing

@testable import Towline

@Suite("Open file") struct OpenFileTests {
    @Test("A regular file is opened, and says how long it is now")
    func opening() throws {
        let scratch = try ScratchFile([1, 2, 3])
        let file = try OpenFile(path: scratch.path)
        #expect(try file.byteCount() == 3)
        try scratch.truncate(to: 10)
        #expect(try file.byteCount() == 10)
    }

    @Test("What is no regular file is refused, without waiting for a pipe's other end")
    func otherKinds() throws {
        for path in ["/", "/dev/null"] {
            #expect(throws: SocketError.self) { try OpenFile(path: path) }
        }
        let scratch = try ScratchFile()
        unlink(scratch.path)
        #expect(mkfifo(scratch.path, 0o600) == 0)
        do {
            _ = try OpenFile(path: scratch.path, file: "a.swift", line: 7)
            Issue.record("it was opened")
        } catch {
            #expect(
                "\(error)"
                    == "OpenFile(path: \(scratch.path)): must be a regular file (a.swift:7)"
            )
        }
        unlink(scratch.path)
        do {
            _ = try OpenFile(path: scratch.path)
            Issue.record("it was opened")
        } catch {
            #expect("\(error)".hasPrefix("open \(scratch.path) failed: no such file"))
        }
    }

    @Test("A duplicate leaves the descriptor to its owner, and closes its own")
    func duplicating() throws {
        let scratch = try ScratchFile([1, 2, 3])
        let descriptor = open(scratch.path, O_RDONLY)
        var held: CInt = -1
        do {
            let file = try OpenFile(duplicating: descriptor)
            held = file.withDescriptor { $0 }
            #expect(fcntl(held, F_GETFD) & FD_CLOEXEC != 0)
            let copy = file
            #expect(try copy.byteCount() == 3)
        }
        #expect(held != descriptor)
        #expect(fcntl(descriptor, F_GETFD) >= 0, "the caller's own")
        close(descriptor)
        #expect(throws: SocketError.self) { try OpenFile(duplicating: descriptor) }
        let writer = open(scratch.path, O_WRONLY)
        #expect(throws: SocketError.self) { try OpenFile(duplicating: writer) }
        close(writer)
    }

    @Test("A read behind the end is a failure that says so")
    func reading() throws {
        let scratch = try ScratchFile([1, 2, 3])
        let file = try OpenFile(path: scratch.path)
        var bytes = [UInt8](repeating: 0, count: 4)
        let results = bytes.withUnsafeMutableBytes { buffer in
            [1, 3].map { file.read(into: buffer.baseAddress!, count: 4, at: $0) }
        }
        #expect(results.map(\.value) == [2, -1])
        #expect(results[1].errno == ENODATA)
        #expect(bytes[0...1] == [2, 3])
        #expect(
            "\(OpenFile.error(ENODATA))"
                == "sending a file that has become shorter failed: no data available (ENODATA)"
        )
    }
}
