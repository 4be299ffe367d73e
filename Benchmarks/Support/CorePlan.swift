internal import CBareEcho

/// Which core the servers run on, and which the load.
struct CorePlan {
    /// The first two cores that this process may use; `nil` if there is only one.
    let separate: (server: CInt, load: CInt)?

    /// How many cores this process may use.
    let count: Int

    /// What this process may use; to be asked before it is pinned.
    static var current: CorePlan {
        var cores = [CInt](repeating: 0, count: 1_024)
        let count = Int(benchmark_list_cores(&cores, CInt(cores.count)))
        return CorePlan(separate: count < 2 ? nil : (cores[0], cores[1]), count: count)
    }

    /// Keeps this process on one core.
    static func pin(to core: CInt) throws(RunFailure) {
        let error = benchmark_pin_to_core(core)
        guard error == 0 else { throw RunFailure("pinning to core \(core)", errno: error) }
    }

    /// The plan in words.
    var description: String {
        guard let separate else { return "1, which servers and load share: times include its turns" }
        return "\(count), servers on core \(separate.server), load on core \(separate.load)"
    }
}
