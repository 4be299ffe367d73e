import Glibc
import Testing

@testable import Towline

/// What the backend on epoll owes the process; where descriptors are counted, in a process of its
/// own, in which nobody else opens any.
@Suite("Descriptors") struct DescriptorTests {
    @Test("BK6: a listen at an address that is taken leaves nothing open")
    func failedListen() async {
        await #expect(processExitsWith: .success) {
            let rig = try BackendKind.epoll.makeRig()
            let (_, bound) = try rig.makeListener()
            let before = openDescriptors()
            for _ in 0..<100 {
                #expect(throws: SystemCallError.self) { try rig.makeListener(at: bound) }
            }
            #expect(openDescriptors().count < before.count + ofTheRuntime)
        }
    }

    @Test("N1, A3, A10: every descriptor is non-blocking and closed by exec; a port is taken again")
    func flags() throws {
        let rig = try BackendKind.epoll.makeRig()
        let (listener, address) = try rig.makeListener()
        let client = rig.nextID()
        try rig.connect(client, to: address)
        try rig.poll(until: { rig.log.accepted.count == 1 })
        let accepted = rig.log.accepted[0]
        var descriptors = [accepted]
        for id in [listener, client] {
            descriptors.append(try #require(rig.backend.descriptor(of: id)))
        }
        for descriptor in descriptors {
            #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
        // The connection that stays behind in TIME_WAIT does not keep the port.
        rig.backend.discard(accepted)
        rig.backend.close(client, .end)
        rig.backend.close(listener, .end)
        try rig.poll()
        _ = try rig.makeListener(at: address)
    }

    @Test("Wish 24: a refused connect leaves nothing open")
    func failedConnect() async {
        await #expect(processExitsWith: .success) {
            let rig = try BackendKind.epoll.makeRig()
            let server = try rig.makeServer(at: .ipv4(.loopback, port: 0), backlog: 8)
            let address = server.address
            server.close()
            let before = openDescriptors()
            let id = rig.nextID()
            for round in 1...100 {
                try rig.connect(id, to: address)
                try rig.poll(until: { rig.log.events(of: id).count == round })
            }
            #expect(openDescriptors().count < before.count + ofTheRuntime)
        }
    }

    @Test("SD4: a hundred backends that were shut down leave nothing open")
    func shutDown() async {
        await #expect(processExitsWith: .success) {
            let before = openDescriptors()
            for _ in 0..<100 {
                let rig = try BackendKind.epoll.makeRig()
                let (_, address) = try rig.makeListener()
                try rig.connect(rig.nextID(), to: address)
                try rig.poll(until: { rig.log.accepted.count == 1 })
                rig.backend.discard(rig.log.accepted[0])
                rig.backend.shutDown()
                rig.backend.shutDown()
            }
            #expect(openDescriptors().count < before.count + ofTheRuntime)
        }
    }

    @Test("BK6: a backend that cannot start says why, and leaves nothing open")
    func failedStart() async {
        await #expect(processExitsWith: .success) {
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var limit = rlimit()
            getrlimit(resource, &limit)
            limit.rlim_cur = rlim_t((openDescriptors().max() ?? 2) + 200)
            setrlimit(resource, &limit)
            // All numbers are taken; what the backend leaves open cannot be taken back again.
            var fillers: [CInt] = []
            func fill() {
                while case let filler = open("/dev/null", O_RDONLY), filler >= 0 {
                    fillers.append(filler)
                }
            }
            fill()
            let fillerCount = fillers.count
            for _ in 0..<100 {
                // One is free, so that the second call fails.
                close(fillers.removeLast())
                let error = #expect(throws: SystemCallError.self) {
                    try EpollBackend(
                        receiveBufferSize: 4_096,
                        budget: TurnBudget(),
                        expectedSockets: 16
                    )
                }
                #expect(error?.errno == EMFILE)
                fill()
            }
            #expect(fillers.count > fillerCount - ofTheRuntime)
            // Whatever looks for leaks at the end needs some.
            for filler in fillers { close(filler) }
        }
    }

    @Test("EP5, Trap 3: a duplicate that lives on brings no event of a socket that was closed")
    func duplicate() throws {
        let rig = try BackendKind.epoll.makeRig()
        let (id, peer) = try rig.makeStream()
        rig.backend.resumeReceiving(id)
        let number = try #require(rig.backend.descriptor(of: id))
        let copy = dup(number)
        defer { close(copy) }
        rig.backend.close(id, .end)
        try rig.poll()
        peer.send([1, 2, 3])
        let before = rig.backend.figures
        for _ in 0..<50 { try rig.poll(waiting: 0) }
        #expect(rig.backend.figures.events == before.events)
        #expect(rig.backend.figures.staleEvents == before.staleEvents)
        #expect(rig.log.events(of: id) == [.closed])
    }

    @Test("EP2: a pause costs nothing until something comes that nobody wants")
    func lazyPause() throws {
        let rig = try BackendKind.epoll.makeRig()
        let (id, peer) = try rig.makeStream()
        for _ in 0..<100 {
            rig.backend.resumeReceiving(id)
            rig.backend.pauseReceiving(id)
        }
        #expect(rig.backend.figures.disarmedEvents == 0)
        peer.send([1])
        try rig.pollInVain()
        #expect(rig.backend.figures.disarmedEvents == 1)
        #expect(rig.log.events(of: id).isEmpty)
        rig.backend.resumeReceiving(id)
        try rig.poll(until: { rig.log.bytes(of: id) == [1] })
    }
}

/// More than the language's runtime may open on threads of its own meanwhile, and far fewer than a
/// hundred rounds would leave open.
private let ofTheRuntime = 20

/// The numbers of this process's descriptors, without that of the look itself.
///
/// - Parameter target: What they are, as the file system names it; `nil` for all.
/// - Returns: The numbers.
private func openDescriptors(like target: String? = nil) -> Set<CInt> {
    guard let folder = opendir("/proc/self/fd") else { return [] }
    let own = dirfd(folder)
    defer { closedir(folder) }
    var numbers: Set<CInt> = []
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        guard let number = CInt(name), number != own else { continue }
        if let target, link("/proc/self/fd/\(name)") != target { continue }
        numbers.insert(number)
    }
    return numbers
}

/// Where a symbolic link leads; empty if it is none.
private func link(_ path: String) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        let count = readlink(path, buffer.baseAddress.unsafelyUnwrapped, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)).map(UInt8.init), as: UTF8.self)
    }
}
