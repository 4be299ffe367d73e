// swift-tools-version: 6.2
import PackageDescription

/// What every Swift target of this package is compiled with.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// An example is one file of `Examples`, named after its target.
func example(_ name: String) -> Target {
    .executableTarget(
        name: name,
        dependencies: ["Towline"],
        path: "Examples",
        sources: ["\(name).swift"],
        swiftSettings: strict
    )
}

let package = Package(
    name: "Towline",
    products: [
        .library(name: "Towline", targets: ["Towline"]),
        .executable(name: "echo-server", targets: ["EchoServer"]),
    ],
    targets: [
        .target(name: "CLinux"),
        .target(name: "TowlineBytes", swiftSettings: strict),
        .target(
            name: "Towline",
            dependencies: ["CLinux", "TowlineBytes"],
            swiftSettings: strict
        ),
        example("EchoServer"),
    ]
)
