internal import CBareTLS
internal import Glibc

/// Runs loads over TLS in this process, one at a time.
enum TLSLoad {
    /// Runs a workload against a server.
    ///
    /// - Throws: What went wrong in a sentence, a wrong byte above all.
    static func run(
        _ workload: Workload,
        port: UInt16,
        server: pid_t,
        seconds: Double
    ) throws(RunFailure) -> Measurement {
        let credentials = try TLSCredentials.inherited()
        var result = benchmark_tls_result()
        let isRight = credentials.certificate.withCString { certificate in
            var load = benchmark_tls_load()
            load.port = port
            load.server = server
            load.certificate = certificate
            load.connection_count = CInt(workload.connectionCount)
            load.depth = CInt(workload.depth)
            load.message_size = workload.messageByteCount
            load.reconnects = workload.reconnects
            load.resumes = workload.kind == .resumption
            load.warmup = Int64(RunOptions.warmupSeconds * 1e9)
            load.duration = Int64(seconds * 1e9)
            return benchmark_run_tls_load(&load, &result)
        }
        guard isRight else { throw RunFailure(String(zeroTerminated: result.failure)) }
        return Measurement(
            operationCount: Int(result.operation_count),
            elapsedNanoseconds: Int(result.elapsed),
            serverNanoseconds: Int(result.server_time)
        )
    }
}
