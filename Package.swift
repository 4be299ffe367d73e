// swift-tools-version: 6.3
import PackageDescription

/// What every Swift target of this package is compiled with.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// The files of `Examples`, each the one source of the target with its name.
let examples = [
    "AsyncEcho", "AsyncFetch", "Demo", "EchoServer", "FirstClient", "FirstServer", "HostedReactor",
    "LineChat", "MailSubmit", "NameByHTTP", "PortForwarder", "RawHTTP", "SecureClient",
    "SecureServer", "TLSProbe",
]

/// Those that speak HTTP.
let webExamples = ["AsyncFetch", "NameByHTTP", "RawHTTP"]

/// Those of them that secure connections, and so link OpenSSL.
let secureExamples =
    ["EchoServer", "MailSubmit", "SecureClient", "SecureServer", "TLSProbe"] + webExamples

func example(_ name: String) -> Target {
    .executableTarget(
        name: name,
        dependencies: ["Towline", "ExampleSupport"]
            + (secureExamples.contains(name) ? ["TowlineTLS"] : [])
            + (webExamples.contains(name) ? ["TowlineHTTP", "TowlineHTTPClient"] : []),
        path: "Examples",
        exclude: examples.filter { $0 != name }.map { "\($0).swift" } + ["Support"],
        sources: ["\(name).swift"],
        swiftSettings: strict
    )
}

/// A folder of `Tests`, with what its tests look into.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
    name: "Towline",
    products: [
        .library(name: "Towline", targets: ["Towline"]),
        .library(name: "TowlineCoding", targets: ["TowlineCoding"]),
        .library(name: "TowlineHTTP", targets: ["TowlineHTTP"]),
        .library(name: "TowlineHTTPClient", targets: ["TowlineHTTPClient"]),
        .library(name: "TowlineTLS", targets: ["TowlineTLS"]),
        .library(name: "TowlineTestKit", targets: ["TowlineTestKit"]),
        .executable(name: "async-echo", targets: ["AsyncEcho"]),
        .executable(name: "async-fetch", targets: ["AsyncFetch"]),
        .executable(name: "echo-server", targets: ["EchoServer"]),
        .executable(name: "fetch", targets: ["fetch"]),
        .executable(name: "hosted-reactor", targets: ["HostedReactor"]),
        .executable(name: "line-chat", targets: ["LineChat"]),
        .executable(name: "mail-submit", targets: ["MailSubmit"]),
        .executable(name: "name-by-http", targets: ["NameByHTTP"]),
        .executable(name: "port-forwarder", targets: ["PortForwarder"]),
        .executable(name: "raw-http", targets: ["RawHTTP"]),
        .executable(name: "tls-probe", targets: ["TLSProbe"]),
    ],
    traits: [
        .trait(name: "Brotli", description: "Contents coded by Brotli; needs libbrotli-dev."),
        .trait(name: "IDN", description: "Hosts that are not ASCII; needs libidn2-dev."),
        .trait(
            name: "PublicSuffixes",
            description: "No cookies for domains such as co.uk; needs libpsl-dev."
        ),
        .trait(name: "Zstd", description: "Contents coded by Zstandard; needs libzstd-dev."),
    ],
    targets: [
        .target(name: "CLinux"),
        .target(name: "TowlineBytes", swiftSettings: strict),
        .target(
            name: "Towline",
            dependencies: ["CLinux", "TowlineBytes"],
            swiftSettings: strict
        ),
        .target(
            name: "COpenSSL",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]
        ),
        .target(
            name: "TowlineTLS",
            dependencies: ["Towline", "TowlineBytes", "COpenSSL"],
            swiftSettings: strict
        ),
        .target(name: "TowlineTestKit", dependencies: ["Towline"], swiftSettings: strict),
        .target(
            name: "CIDN",
            linkerSettings: [.linkedLibrary("idn2", .when(traits: ["IDN"]))]
        ),
        .target(
            name: "CPSL",
            linkerSettings: [.linkedLibrary("psl", .when(traits: ["PublicSuffixes"]))]
        ),
        .target(
            name: "TowlineHTTP",
            dependencies: [
                "TowlineBytes",
                .target(name: "CIDN", condition: .when(traits: ["IDN"])),
                .target(name: "CPSL", condition: .when(traits: ["PublicSuffixes"])),
            ],
            swiftSettings: strict
        ),
        .target(name: "CZlib", linkerSettings: [.linkedLibrary("z")]),
        .target(
            name: "CBrotli",
            linkerSettings: [.linkedLibrary("brotlidec", .when(traits: ["Brotli"]))]
        ),
        .target(
            name: "CZstd",
            linkerSettings: [.linkedLibrary("zstd", .when(traits: ["Zstd"]))]
        ),
        .target(
            name: "TowlineCoding",
            dependencies: [
                "CZlib",
                .target(name: "CBrotli", condition: .when(traits: ["Brotli"])),
                .target(name: "CZstd", condition: .when(traits: ["Zstd"])),
            ],
            swiftSettings: strict
        ),

        .target(
            name: "TowlineHTTPClient",
            dependencies: ["Towline", "TowlineTLS", "TowlineHTTP", "TowlineCoding"],
            packageAccess: false,
            swiftSettings: strict
        ),

        .executableTarget(
            name: "fetch",
            dependencies: ["TowlineHTTPClient", "Towline", "TowlineHTTP", "TowlineTLS"],
            swiftSettings: strict
        ),

        .target(
            name: "ExampleSupport",
            dependencies: ["Towline"],
            path: "Examples/Support",
            swiftSettings: strict
        ),

        .target(name: "CBareEcho", path: "Benchmarks/Support/CBareEcho"),
        .target(
            name: "CBareTLS",
            path: "Benchmarks/Support/CBareTLS",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]
        ),
        .target(name: "CBareHTTP", path: "Benchmarks/Support/CBareHTTP"),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "Towline", "TowlineTLS", "TowlineHTTP", "TowlineHTTPClient", "CBareEcho",
                "CBareTLS", "CBareHTTP",
            ],
            path: "Benchmarks",
            exclude: ["Support/CBareEcho", "Support/CBareTLS", "Support/CBareHTTP"],
            swiftSettings: strict
        ),

        .target(
            name: "TestSupport",
            dependencies: ["Towline", "CLinux"],
            path: "Tests/Support",
            exclude: [
                "budget.py", "compare_cases.py", "compare_curl.py", "compare_servers.py", "docs.sh",
                "example_tools.py", "examples.py", "examples_http.py", "examples_tls.py",
                "faults.py", "journeys.py", "leaks.supp", "load.c", "make-certs.sh",
                "rule-breaker.py", "setup.sh", "threads.supp", "web-socket.py",
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "Soak",
            dependencies: [
                "Towline", "TowlineTLS", "TowlineHTTP", "TowlineHTTPClient", "TestSupport",
            ],
            path: "Tests/Soak",
            swiftSettings: strict
        ),
        tests("TowlineBytesTests", ["TowlineBytes", "TestSupport"]),
        tests("TowlineTests", ["Towline", "TowlineTestKit", "TowlineBytes", "TestSupport"]),
        tests("BackendTests", ["Towline", "TowlineTestKit", "TestSupport"]),
        tests("SimulationTests", ["Towline", "TowlineTestKit", "TowlineBytes", "TestSupport"]),
        tests("LoopbackTests", ["Towline", "TowlineTLS", "TowlineTestKit", "TestSupport"]),
        tests("TowlineTLSTests", ["TowlineTLS", "Towline", "COpenSSL", "TestSupport"]),
        tests("TowlineHTTPTests", ["TowlineHTTP", "TestSupport"]),
        .testTarget(
            name: "TowlineCodingTests",
            dependencies: ["TowlineCoding", "CZlib", "CBrotli", "CZstd", "TestSupport"],
            swiftSettings: strict,
            linkerSettings: [.linkedLibrary("brotlienc", .when(traits: ["Brotli"]))]
        ),
        tests(
            "TowlineHTTPClientTests",
            [
                "TowlineHTTPClient", "Towline", "TowlineHTTP", "TowlineTLS", "TowlineTestKit",
                "TestSupport",
            ]
        ),
        tests("FetchTests", ["fetch", "Towline", "TowlineHTTP", "TestSupport"]),
        tests("TidyTests", []),
    ] + examples.map(example)
)

// A part of the tests, and what they need: what a target of the Makefile has built that runs no
// more than that.
if let wanted = Context.environment["TOWLINE_TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { target in
        target.type == .executable || target.type == .test && !wanted.contains(target.name)
    }
    package.products.removeAll { $0 is Product.Executable }
}
