internal import CBareTLS
internal import Glibc

/// A certificate that signs itself, and its key, made for one comparison; servers inherit them
/// through the environment.
struct TLSCredentials {
    let certificate: String
    let key: String

    private static let names = ("BENCHMARK_CERTIFICATE", "BENCHMARK_KEY")

    /// Makes a pair for the processes that are started from here on.
    static func make() throws(RunFailure) {
        var certificate = [CChar](repeating: 0, count: Int(benchmark_pem_size))
        var key = certificate
        guard benchmark_make_certificate(&certificate, &key) else {
            throw RunFailure("no certificate could be made")
        }
        setenv(names.0, certificate, 1)
        setenv(names.1, key, 1)
    }

    /// The pair that this process, or the one that has started it, has made.
    static func inherited() throws(RunFailure) -> TLSCredentials {
        guard let certificate = getenv(names.0), let key = getenv(names.1) else {
            throw RunFailure("\(names.0) and \(names.1) are not set")
        }
        return TLSCredentials(
            certificate: String(cString: certificate),
            key: String(cString: key)
        )
    }
}
