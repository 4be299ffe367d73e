import Testing

@Suite("Layers") struct LayerTests {
    /// What each module may import, from the top down; what the system has is free to all.
    private static let modules: [(name: String, imports: Set<String>)] = [
        ("fetch", ["TowlineHTTPClient", "Towline", "TowlineTLS", "TowlineHTTP"]),
        ("TowlineHTTPClient", ["Towline", "TowlineTLS", "TowlineHTTP", "TowlineCoding"]),
        ("TowlineFoundation", ["Towline", "Foundation"]),
        ("TowlineTLS", ["Towline", "TowlineBytes", "COpenSSL"]),
        ("TowlineTestKit", ["Towline"]),
        ("Towline", ["TowlineBytes", "CLinux", "TowlineURing"]),
        ("TowlineURing", ["CURing"]),
        ("TowlineHTTP", ["TowlineBytes", "CIDN", "CPSL"]),
        ("TowlineCoding", ["CZlib", "CBrotli", "CZstd"]),
        ("TowlineBytes", []),
    ]

    private static let system: Set<String> = ["Glibc", "Synchronization"]

    /// The folders of the main module, from low to high; no file mentions a type of a higher one.
    private static let folders = [
        "System", "Backend", "Naming", "Reactor", "Stream", "Datagram", "Framing", "Service",
        "Async",
    ]

    /// Files that belong to no folder: errors stand right above the system's, and whoever hands out
    /// events knows everybody.
    private static let rootFiles = [
        "SocketError.swift": 0.5, "SecurityError.swift": 0.5, "EventDispatch.swift": 100,
    ]

    /// Mentions that go up, each with its reason.
    private static let exceptions: [String: Set<String>] = [
        // `invalidState` carries the state of the socket that refused the call.
        "Sources/Towline/SocketError.swift": ["StreamSocket"]
    ]

    @Test("Each folder of Sources is a module of the table or a C target, and nothing else")
    func everyModule() {
        let known = Set(Self.modules.map(\.name))
            .union(["CLinux", "COpenSSL", "CURing", "CZlib", "CBrotli", "CIDN", "CPSL", "CZstd"])
        for path in Checkout.files(below: "Sources", ending: "") {
            let module = String(path.split(separator: "/")[1])
            #expect(known.contains(module), "\(path)")
        }
    }

    @Test("Imports point down only")
    func imports() throws {
        for (name, allowed) in Self.modules {
            let folder = "Sources/\(name)"
            guard !Checkout.files(below: folder, ending: ".swift").isEmpty else { continue }
            for file in try Checkout.sources(below: folder) {
                let refused = file.imports.filter {
                    !allowed.contains($0) && !Self.system.contains($0)
                }
                #expect(refused.isEmpty, "\(file.path) imports \(refused)")
            }
        }
    }

    @Test("Examples are one file each, on the public modules and what they share")
    func examples() throws {
        let free = Self.system.union([
            "Towline", "TowlineTLS", "TowlineHTTP", "TowlineHTTPClient", "ExampleSupport",
        ])
        for file in try Checkout.sources(below: "Examples") {
            let isShared = file.path.hasPrefix("Examples/Support/")
            let isAlone = file.path.split(separator: "/").count == 2
            #expect(isShared || isAlone, "\(file.path)")
            // One shows other loops than ours, and so imports them.
            let isHost = file.name == "HostedReactor.swift"
            let allowed = isHost ? free.union(["Dispatch", "Foundation"]) : free
            #expect(allowed.isSuperset(of: file.imports), "\(file.path) imports \(file.imports)")
            // What all share links nothing that only some need.
            let isAbove = file.imports.contains { $0 == "ExampleSupport" || $0 == "TowlineTLS" }
            #expect(!isShared || !isAbove, "\(file.path)")
        }
    }

    @Test("Foundation is imported only by the module that is named after it")
    func foundation() throws {
        for file in try Checkout.sources(below: "Sources")
        where !file.path.hasPrefix("Sources/TowlineFoundation/") {
            let refused = file.imports.filter { $0.hasPrefix("Foundation") }
            #expect(refused.isEmpty, "\(file.path)")
        }
    }

    @Test("C modules are imported internally, so that no C type shows")
    func cModules() throws {
        for file in try Checkout.sources(below: "Sources") {
            for (line, code) in zip(file.lines, file.code)
            where code.contains("import C") || code.contains("import Glibc") {
                // Files of a trait are indented within its condition.
                let isInternal = line.drop { $0 == " " }.hasPrefix("internal import ")
                #expect(isInternal, "\(file.path): \(line)")
            }
        }
    }

    @Test("Each file of the main module lies in a folder of the list, or is known to lie in none")
    func everyFolder() throws {
        for file in try Checkout.sources(below: "Sources/Towline") {
            #expect(height(of: file) != nil, "\(file.path)")
        }
    }

    @Test("No file of the main module mentions a type that is declared above it")
    func mentions() throws {
        let files = try Checkout.sources(below: "Sources/Towline")
        var heights: [String: Double] = [:]
        for file in files {
            guard let height = height(of: file) else { continue }
            for type in file.declaredTypes { heights[type] = height }
        }
        #expect(heights["StreamSocket"] == 4, "types are found")
        for file in files {
            guard let height = height(of: file) else { continue }
            let above = file.words.filter { (heights[$0] ?? height) > height }
                .subtracting(Self.exceptions[file.path] ?? [])
            #expect(above.isEmpty, "\(file.path) mentions \(above.sorted())")
        }
    }

    @Test("No exception is kept that nobody needs any more")
    func usedExceptions() throws {
        for (path, types) in Self.exceptions {
            let file = SourceFile(path: path, text: try Checkout.text(of: path))
            #expect(file.words.isSuperset(of: types), "\(path)")
        }
    }

    private func height(of file: SourceFile) -> Double? {
        let parts = file.path.split(separator: "/").map(String.init)
        guard parts.count > 3 else { return Self.rootFiles[file.name] }
        return Self.folders.firstIndex(of: parts[2]).map(Double.init)
    }
}
