import Testing

@testable import Towline

@Suite("Configuration") struct ConfigurationTests {
    @Test("The usual configuration is valid, and what the documentation says")
    func defaults() throws {
        let configuration = Reactor.Configuration()
        try configuration.validate()
        #expect(configuration.backend == .automatic)
        #expect(configuration.receiveBufferSize == 256 * 1024)
        #expect(configuration.budget.receivesPerSocket == 16, "LP3")
        #expect(configuration.budget.receivedBytesPerSocket == 256 * 1024, "LP3")
        #expect(configuration.budget.acceptsPerListener == 64, "LP3")
        #expect(configuration.budget.jobs == 1_024, "LP3")
        #expect(configuration.budget.timers == 1_024, "LP3")
    }

    @Test("A receive buffer is a power of two from 4 KiB to 1 MiB")
    func receiveBufferSizes() throws {
        var configuration = Reactor.Configuration()
        for size in [4_096, 65_536, 1 << 20] {
            configuration.receiveBufferSize = size
            try configuration.validate()
        }
        for size in [Int.min, -4_096, 0, 1, 2_048, 4_095, 4_097, 5_000, 1 << 21, .max] {
            configuration.receiveBufferSize = size
            #expect(throws: ReactorError.self, "size \(size)") { try configuration.validate() }
        }
    }

    @Test("Each number of the budget is 1 or more")
    func budgets() throws {
        let fields: [WritableKeyPath<TurnBudget, Int>] = [
            \.receivedBytesPerSocket, \.receivesPerSocket, \.callbacksPerSocket,
            \.acceptsPerListener, \.jobs, \.timers, \.closings,
        ]
        for field in fields {
            var configuration = Reactor.Configuration()
            configuration.budget[keyPath: field] = 1
            try configuration.validate()
            configuration.budget[keyPath: field] = 0
            #expect(throws: ReactorError.self) { try configuration.validate() }
        }
    }

    @Test("At most a million sockets are expected, and at least none")
    func expectedSockets() throws {
        var configuration = Reactor.Configuration()
        for count in [0, 1_000_000] {
            configuration.expectedSockets = count
            try configuration.validate()
        }
        for count in [-1, 1_000_001] {
            configuration.expectedSockets = count
            #expect(throws: ReactorError.self) { try configuration.validate() }
        }
    }

    @Test("What is refused is said with its value")
    func refusalTexts() {
        var configuration = Reactor.Configuration()
        configuration.receiveBufferSize = 5_000
        let refusal = ReactorError.invalidConfiguration(
            "receiveBufferSize 5000: must be a power of two from 4096 to 1048576"
        )
        #expect(throws: refusal) { try configuration.validate() }
        #expect(throws: refusal) { _ = try Reactor(configuration) }
    }
}
