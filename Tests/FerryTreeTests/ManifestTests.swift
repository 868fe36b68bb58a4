import Testing

/// Tests that the targets of `Package.swift` are what their files import.
@Suite struct ManifestTests {
    /// The modules of the toolchain, which no target declares.
    private static let toolchain: Set<String> = [
        "Darwin", "Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Musl", "Synchronization", "Testing",
    ]

    /// The modules of this package that each module in `Sources` may import: the arrows of the design. The tests and the
    /// examples may import any.
    ///
    /// * `FerryPlatform` is the system's library, so any module may import it.
    /// * A protocol knows neither TLS nor the other protocol, and nothing below `Ferry` has sockets of a client.
    /// * `FerryServer` knows no client, and `FerryGateway` knows neither `Ferry` nor `FerryHTTP2`: `FerryForwarding` joins
    ///   them.
    /// * `FerryPostgres` alone knows libpq, and `FerryBench`, which measures it bare. The gateway knows no PostgreSQL:
    ///   `FerryShards` joins them.
    /// * No product but the command and `FerryAppStoreTesting` imports `FerryTesting`.
    private static let arrows: [String: [String]] = [
        "FerryPlatform": [],
        "FerryCore": [],
        "FerryProxy": [],
        "FerryMachine": ["FerryCore"],
        "FerryBinary": ["FerryCore", "FerryMachine"],
        "FerryHTTP2": ["CFerryNGHTTP2", "FerryCore", "FerryMachine"],
        "FerryOpenSSL": ["CFerryOpenSSL", "FerryCore"],
        "FerryServer": ["FerryCore", "FerryOpenSSL"],
        "FerrySQLite": ["CFerrySQLite"],
        "FerryPostgres": ["CFerryPostgreSQL", "FerryCore"],
        "FerryHTTP1": ["FerryCore", "FerryOpenSSL", "FerryProxy", "FerryServer"],
        "FerryAdmin": ["FerryCore", "FerryHTTP1", "FerryOpenSSL", "FerryServer"],
        "FerryGateway": [
            "FerryAdmin", "FerryBinary", "FerryCore", "FerryMachine", "FerryOpenSSL", "FerryServer", "FerrySQLite",
        ],
        "FerryShards": ["FerryAdmin", "FerryCore", "FerryGateway", "FerryMachine", "FerryOpenSSL", "FerryPostgres"],
        "FerryWorker": ["FerryCore", "FerryHTTP2", "FerryPostgres"],
        "Ferry": ["FerryBinary", "FerryCore", "FerryHTTP2", "FerryMachine", "FerryOpenSSL", "FerryProxy"],
        "FerryOptions": ["FerryBinary", "FerryCore", "FerryHTTP2"],
        "FerryC": ["CFerry", "Ferry", "FerryBinary", "FerryCore", "FerryOpenSSL", "FerryOptions", "FerryProxy"],
        "FerryAppStore": [
            "FerryAdmin", "FerryCore", "FerryHTTP1", "FerryOpenSSL", "FerryProxy", "FerrySQLite", "FerryServer",
        ],
        "FerryTesting": ["FerryBinary", "FerryCore", "FerryHTTP2", "FerryMachine", "FerryOpenSSL", "FerryServer"],
        "FerryAppStoreTesting": [
            "FerryAppStore", "FerryCore", "FerryHTTP1", "FerryMachine", "FerryOpenSSL", "FerryServer", "FerryTesting",
        ],
        "FerryTerminal": ["FerryBinary", "FerryCore", "FerryOpenSSL"],
        "FerryDoctor": [
            "Ferry", "FerryAppStoreTesting", "FerryCore", "FerryHTTP1", "FerryHTTP2", "FerryOpenSSL", "FerryProxy",
            "FerryTerminal",
        ],
        "FerryForwarding": [
            "Ferry", "FerryCore", "FerryGateway", "FerryOpenSSL", "FerryTerminal", "FerryTesting", "FerryWorker",
        ],
        "FerryBench": [
            "CFerryPostgreSQL", "Ferry", "FerryBinary", "FerryCore", "FerryForwarding", "FerryGateway", "FerryHTTP2",
            "FerryMachine", "FerryOpenSSL", "FerryPostgres", "FerryShards", "FerryTerminal", "FerryTesting",
            "FerryWorker",
        ],
        "FerryDemo": [
            "Ferry", "FerryAppStore", "FerryAppStoreTesting", "FerryCore", "FerryForwarding", "FerryGateway",
            "FerryTerminal", "FerryTesting",
        ],
        "FerryCommand": [
            "CFerryBuild", "Ferry", "FerryAdmin", "FerryAppStore", "FerryAppStoreTesting", "FerryBench", "FerryBinary",
            "FerryCore",
            "FerryDemo",
            "FerryDoctor", "FerryForwarding", "FerryGateway", "FerryHTTP1", "FerryHTTP2", "FerryOpenSSL",
            "FerryOptions", "FerryPostgres", "FerryProxy", "FerrySQLite", "FerryServer", "FerryShards", "FerryTerminal",
            "FerryTesting", "FerryWorker",
        ],
        "FerryCLI": ["FerryCommand"],
    ]

    private let manifest: Manifest

    init() throws { self.manifest = try Manifest() }

    @Test func `the manifest is read`() {
        #expect(self.manifest.products.contains { $0.name == "Ferry" && $0.targets == ["Ferry"] })
        #expect(self.manifest.products.contains { $0.name == "ferryc" && $0.targets == ["FerryC"] })
        let core = self.manifest.targets.first { $0.name == "FerryCore" }
        #expect(core?.dependencies == ["FerryPlatform", "ServiceLifecycle"])
        #expect(self.manifest.targets.contains { $0.name == "FerryTreeTests" && $0.kind == "testTarget" })
    }

    @Test func `a target declares every module that it imports`() throws {
        for target in self.manifest.targets {
            for (module, file) in try target.imports().sorted(by: <) {
                guard module != target.name, !Self.toolchain.contains(module) else { continue }
                #expect(
                    target.dependencies.contains(module),
                    "\(file) imports \(module): add it to the dependencies of \(target.name) in Package.swift."
                )
            }
        }
    }

    @Test func `a target imports every module that it declares`() throws {
        // Tests run programs, and import none.
        let programs = Set(self.manifest.targets.filter { $0.kind == "executableTarget" }.map(\.name))
        for target in self.manifest.targets {
            let unused = try target.dependencies.subtracting(target.imports().keys).subtracting(programs)
            #expect(
                unused.isEmpty,
                "No file of \(target.name) imports \(unused.sorted()): take it out of its dependencies in Package.swift."
            )
        }
    }

    @Test func `modules import each other in one direction only`() throws {
        let own = Set(self.manifest.targets.map(\.name))
        for target in self.manifest.sources where target.kind != "systemLibrary" && target.name != "CFerry" {
            guard let allowed = Self.arrows[target.name] else {
                Issue.record("\(target.name) has no row in `arrows`: say there what it may import.")
                continue
            }
            for (module, file) in try target.imports()
            where own.contains(module) && module != target.name && module != "FerryPlatform" {
                #expect(
                    allowed.contains(module),
                    """
                    \(file) imports \(module), which `arrows` does not allow to \(target.name). Move what is needed down \
                    to a module that both may import; or, if the design changes, add the arrow and a design record.
                    """
                )
            }
        }
        let gone = Set(Self.arrows.keys).subtracting(own)
        #expect(gone.isEmpty, "There is no target \(gone.sorted()): take the row out of `arrows`.")
    }
}
