internal import CBareEcho
internal import Glibc

/// What one run of a load measured.
struct Measurement {
    let operationCount: Int
    let elapsedNanoseconds: Int
    /// The processor time of the server's process.
    let serverNanoseconds: Int

    /// Processor time of the server, in microseconds, for one operation.
    var microsecondsPerOperation: Double {
        Double(serverNanoseconds) / 1_000 / Double(operationCount)
    }

    var operationsPerSecond: Double {
        Double(operationCount) / (Double(elapsedNanoseconds) / 1e9)
    }
}

/// Runs loads in this process, one at a time.
enum EchoLoad {
    /// Runs a workload against a server.
    ///
    /// - Throws: What went wrong in a sentence, a wrong byte above all.
    static func run(
        _ workload: Workload,
        port: UInt16,
        server: pid_t,
        seconds: Double
    ) throws(RunFailure) -> Measurement {
        var load = benchmark_load()
        load.port = port
        load.server = server
        load.connection_count = CInt(workload.connectionCount)
        load.depth = CInt(workload.depth)
        load.message_size = workload.messageByteCount
        load.reconnects = workload.reconnects
        load.warmup = Int64(RunOptions.warmupSeconds * 1e9)
        load.duration = Int64(seconds * 1e9)
        var result = benchmark_load_result()
        guard benchmark_run_load(&load, &result) else {
            throw RunFailure(String(zeroTerminated: result.failure))
        }
        return Measurement(
            operationCount: Int(result.operation_count),
            elapsedNanoseconds: Int(result.elapsed),
            serverNanoseconds: Int(result.server_time)
        )
    }
}
