// swift-tools-version: 6.3
import PackageDescription

// Warnings are errors where every commit is checked, and only there: a newer compiler must not break a user's build.
let warnings: [SwiftSetting] =
    Context.environment["FERRY_WARNINGS"] == "error" ? [.treatAllWarnings(as: .error)] : []

let features: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let settings = features + warnings

let package = Package(
    name: "ferry",
    platforms: [.macOS("26.0")],
    products: [
        .library(name: "Ferry", targets: ["Ferry"]),
        .library(name: "FerryAppStore", targets: ["FerryAppStore"]),
        .library(name: "FerryAppStoreTesting", targets: ["FerryAppStoreTesting"]),
        .library(name: "FerryTesting", targets: ["FerryTesting"]),
        .library(name: "ferryc", type: .dynamic, targets: ["FerryC"]),
        .executable(name: "ferry", targets: ["FerryCLI"]),
        // For the nested packages of Tests, which see products only. They promise nothing.
        .library(name: "FerryC", targets: ["FerryC"]),
        .library(name: "FerryCommand", targets: ["FerryCommand"]),
        .library(name: "FerryWorlds", targets: ["FerryBinaryWorld", "FerryHTTP2World"]),
    ],
    traits: [
        .trait(name: "PostgreSQL", description: "Several gateways on one PostgreSQL, and the work queue. Links libpq.")
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .systemLibrary(name: "CFerryBuild"),
        .systemLibrary(name: "CFerryOpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CFerryNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CFerryPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CFerrySQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),

        .target(name: "FerryPlatform", swiftSettings: settings),
        .target(
            name: "FerryCore",
            dependencies: ["FerryPlatform", .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")],
            swiftSettings: settings
        ),
        .target(
            name: "FerryProxy",
            dependencies: ["FerryPlatform", .product(name: "NIOCore", package: "swift-nio")],
            swiftSettings: settings
        ),
        .target(
            name: "FerryMachine",
            dependencies: [
                "FerryCore",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryBinary",
            dependencies: [
                "FerryCore", "FerryMachine", "FerryPlatform",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryHTTP2",
            dependencies: [
                "CFerryNGHTTP2", "FerryCore", "FerryMachine", "FerryPlatform",
                .product(name: "BasicContainers", package: "swift-collections"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryOpenSSL",
            dependencies: [
                "CFerryOpenSSL", "FerryCore", "FerryPlatform",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Ferry",
            dependencies: [
                "FerryCore", "FerryBinary", "FerryHTTP2", "FerryMachine", "FerryOpenSSL", "FerryPlatform", "FerryProxy",
                .product(name: "BasicContainers", package: "swift-collections"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryOptions",
            dependencies: ["FerryBinary", "FerryCore", "FerryHTTP2"],
            swiftSettings: settings
        ),
        .target(name: "CFerry"),
        .target(
            name: "FerryC",
            dependencies: [
                "CFerry", "Ferry", "FerryBinary", "FerryCore", "FerryOpenSSL", "FerryOptions", "FerryPlatform",
                "FerryProxy",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerrySQLite",
            dependencies: ["CFerrySQLite", "FerryPlatform", .product(name: "NIOPosix", package: "swift-nio")],
            swiftSettings: settings
        ),
        .target(
            name: "FerryPostgres",
            dependencies: [
                .target(name: "CFerryPostgreSQL", condition: .when(traits: ["PostgreSQL"])),
                "FerryCore", "FerryPlatform",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryWorker",
            dependencies: [
                "FerryCore", "FerryHTTP2", "FerryPostgres",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryServer",
            dependencies: [
                "FerryCore", "FerryOpenSSL", "FerryPlatform",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryHTTP1",
            dependencies: [
                "FerryCore", "FerryOpenSSL", "FerryPlatform", "FerryProxy", "FerryServer",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryAdmin",
            dependencies: [
                "FerryCore", "FerryHTTP1", "FerryOpenSSL", "FerryPlatform", "FerryServer",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryGateway",
            dependencies: [
                "FerryAdmin", "FerryCore", "FerryBinary", "FerryMachine", "FerryOpenSSL", "FerryServer", "FerrySQLite",
                "FerryPlatform",
                .product(name: "BasicContainers", package: "swift-collections"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryShards",
            dependencies: [
                "FerryAdmin", "FerryCore", "FerryGateway", "FerryMachine", "FerryOpenSSL", "FerryPlatform",
                "FerryPostgres",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryAppStore",
            dependencies: [
                "FerryAdmin", "FerryCore", "FerryHTTP1", "FerryOpenSSL", "FerryPlatform",
                "FerryProxy", "FerrySQLite", "FerryServer",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryTesting",
            dependencies: [
                "FerryCore", "FerryBinary", "FerryHTTP2", "FerryMachine", "FerryOpenSSL", "FerryPlatform",
                "FerryServer",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryAppStoreTesting",
            dependencies: [
                "FerryAppStore", "FerryCore", "FerryHTTP1", "FerryMachine", "FerryOpenSSL", "FerryPlatform",
                "FerryServer", "FerryTesting",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryTerminal",
            dependencies: [
                "FerryBinary", "FerryCore", "FerryOpenSSL", "FerryPlatform",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryDoctor",
            dependencies: [
                "Ferry", "FerryAppStoreTesting", "FerryCore", "FerryHTTP1", "FerryHTTP2", "FerryOpenSSL",
                "FerryPlatform", "FerryProxy", "FerryTerminal",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryForwarding",
            dependencies: [
                "Ferry", "FerryCore", "FerryGateway", "FerryOpenSSL", "FerryTerminal", "FerryTesting", "FerryWorker",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryBench",
            dependencies: [
                .target(name: "CFerryPostgreSQL", condition: .when(traits: ["PostgreSQL"])),
                "Ferry", "FerryBinary", "FerryCore", "FerryForwarding", "FerryGateway", "FerryHTTP2", "FerryMachine",
                "FerryOpenSSL", "FerryPlatform", "FerryPostgres", "FerryShards", "FerryTerminal", "FerryTesting",
                "FerryWorker",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryDemo",
            dependencies: [
                "Ferry", "FerryAppStore", "FerryAppStoreTesting", "FerryCore", "FerryForwarding", "FerryGateway",
                "FerryPlatform", "FerryTerminal", "FerryTesting",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FerryCommand",
            dependencies: [
                "CFerryBuild", "Ferry", "FerryAdmin", "FerryAppStore", "FerryAppStoreTesting", "FerryBench",
                "FerryBinary", "FerryCore", "FerryDemo", "FerryDoctor", "FerryForwarding", "FerryGateway",
                "FerryHTTP1", "FerryHTTP2", "FerryOpenSSL", "FerryOptions", "FerryPlatform", "FerryPostgres",
                "FerryProxy", "FerrySQLite", "FerryServer", "FerryShards", "FerryTerminal", "FerryTesting",
                "FerryWorker",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "FerryCLI", dependencies: ["FerryCommand"], swiftSettings: settings),

        .executableTarget(
            name: "FirstProgram",
            dependencies: ["Ferry", "FerryTesting"],
            path: "Examples/FirstProgram",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "SendAndHandleErrors",
            dependencies: ["Ferry", "FerryTesting"],
            path: "Examples/SendAndHandleErrors",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "BulkSender",
            dependencies: ["Ferry", "FerryTesting"],
            path: "Examples/BulkSender",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "SendOverHTTP2",
            dependencies: ["Ferry", "FerryTesting"],
            path: "Examples/SendOverHTTP2",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "OneProgramBothProtocols",
            dependencies: ["Ferry", "FerryTesting"],
            path: "Examples/OneProgramBothProtocols",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "MoveDevices",
            dependencies: ["Ferry", "FerryTesting"],
            path: "Examples/MoveDevices",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "ServiceFromEnvironment",
            dependencies: [
                "Ferry", "FerryTesting",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "Examples/ServiceFromEnvironment",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "ReplayedTranscript",
            dependencies: ["Ferry", "FerryTesting"],
            path: "Examples/ReplayedTranscript",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "FeedbackSweep",
            dependencies: ["Ferry", "FerryTesting"],
            path: "Examples/FeedbackSweep",
            swiftSettings: settings
        ),

        .target(
            name: "FerryBinaryWorld",
            dependencies: [
                "FerryBinary", "FerryCore", "FerryMachine", .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/Worlds/Binary",
            swiftSettings: settings
        ),
        .target(name: "FerryServiceWorld", path: "Tests/Worlds/Service", swiftSettings: settings),
        .target(
            name: "FerryHTTP2World",
            dependencies: [
                "FerryHTTP2", "FerryCore", "FerryMachine", .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/Worlds/HTTP2",
            swiftSettings: settings
        ),

        .target(
            name: "FerryHTTP1TestSupport",
            dependencies: [
                "FerryCore", "FerryHTTP1", "FerryOpenSSL", "FerryServer",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Tests/FerryHTTP1TestSupport",
            swiftSettings: settings
        ),

        .target(
            name: "FerryProxyTestSupport",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/FerryProxyTestSupport",
            swiftSettings: settings
        ),

        .target(
            name: "FerryGatewayTestSupport",
            dependencies: [
                "FerryBinary", "FerryCore", "FerryMachine",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/FerryGatewayTestSupport",
            swiftSettings: settings
        ),

        // Reads the files of this repository, and builds in a moment.
        .testTarget(name: "FerryTreeTests", swiftSettings: settings),
        .testTarget(name: "FerryCoreTests", dependencies: ["FerryCore"], swiftSettings: settings),
        .testTarget(
            name: "FerryProxyTests",
            dependencies: ["FerryProxy", .product(name: "NIOCore", package: "swift-nio")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryMachineTests",
            dependencies: [
                "FerryMachine", "FerryCore",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryBinaryTests",
            dependencies: [
                "FerryBinaryWorld", "FerryBinary", "FerryCore", "FerryMachine",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            resources: [.copy("Vectors")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryHTTP2Tests",
            dependencies: [
                "FerryHTTP2World", "FerryHTTP2", "FerryCore", "FerryMachine", "FerryOpenSSL",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryOpenSSLTests",
            dependencies: [
                "FerryOpenSSL", "FerryCore",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryHTTP1Tests",
            dependencies: [
                "FerryHTTP1", "FerryHTTP1TestSupport", "FerryOpenSSL", "FerryProxy", "FerryProxyTestSupport",
                "FerryServer",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryAppStoreTests",
            dependencies: [
                "FerryAdmin", "FerryAppStore", "FerryAppStoreTesting", "FerryCore", "FerryHTTP1",
                "FerryHTTP1TestSupport",
                "FerryOpenSSL", "FerryServer", "FerrySQLite", "FerryTesting",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryOptionsTests",
            dependencies: ["FerryOptions", "FerryBinary", "FerryCore", "FerryHTTP2"],
            swiftSettings: settings
        ),
        .testTarget(name: "FerrySQLiteTests", dependencies: ["FerrySQLite"], swiftSettings: settings),
        .target(
            name: "FerryPostgresTestSupport",
            dependencies: ["FerryCore", "FerryPlatform"],
            path: "Tests/FerryPostgresTestSupport",
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryPostgresTests",
            dependencies: ["FerryCore", "FerryPlatform", "FerryPostgres", "FerryPostgresTestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryWorkerTests",
            dependencies: [
                "Ferry", "FerryCore", "FerryForwarding", "FerryPlatform", "FerryPostgres", "FerryPostgresTestSupport",
                "FerryTesting", "FerryWorker",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryServerTests",
            dependencies: [
                "FerryServiceWorld", "FerryServer", "FerryOpenSSL", "FerryPlatform",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryAdminTests",
            dependencies: [
                "FerryAdmin", "FerryCore", "FerryHTTP1", "FerryPlatform",
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryGatewayTests",
            dependencies: [
                "FerryAdmin", "FerryGatewayTestSupport", "FerryHTTP1", "FerryServiceWorld",
                "FerryGateway", "Ferry", "FerryBinary", "FerryCore", "FerryMachine", "FerryOpenSSL", "FerryPlatform",
                "FerryPostgres", "FerryPostgresTestSupport", "FerrySQLite", "FerryServer", "FerryShards",
                "FerryTesting",
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryShardsTests",
            dependencies: [
                "FerryShards", "Ferry", "FerryBinary", "FerryCore", "FerryForwarding", "FerryGateway",
                "FerryGatewayTestSupport", "FerryMachine", "FerryPlatform", "FerryPostgres", "FerryPostgresTestSupport",
                "FerryTesting",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryTestingTests",
            dependencies: [
                "FerryTesting", "FerryBinary", "FerryCore", "FerryHTTP2", "FerryMachine", "FerryOpenSSL",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryAppStoreTestingTests",
            dependencies: [
                "FerryAppStoreTesting", "FerryAppStore", "FerryCore", "FerryMachine", "FerryOpenSSL", "FerryServer",
                "FerryTesting",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryTests",
            dependencies: [
                "Ferry", "FerryAppStore", "FerryBinary", "FerryCore", "FerryHTTP2", "FerryMachine", "FerryOpenSSL",
                "FerryProxyTestSupport", "FerryTesting",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryCTests",
            dependencies: ["CFerry", "FerryC", "FerryCore", "FerryProxyTestSupport", "FerryTesting"],
            exclude: ["Programs"],
            resources: [.copy("abi.txt")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryDoctorTests",
            dependencies: [
                "FerryDoctor", "Ferry", "FerryAppStore", "FerryAppStoreTesting", "FerryHTTP1", "FerryOpenSSL",
                "FerryTerminal",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FerryCommandTests",
            dependencies: [
                "FerryAdmin", "FerryCLI", "FerryCommand", "Ferry", "FerryAppStore", "FerryAppStoreTesting",
                "FerryBench", "FerryServer",
                "FerryBinary", "FerryCore", "FerryDemo", "FerryDoctor", "FerryGateway", "FerryHTTP2", "FerryOpenSSL",
                "FerryPostgres", "FerryPostgresTestSupport", "FerryServiceWorld", "FerryOptions",
                "FerryProxyTestSupport", "FerryShards", "FerryTerminal", "FerryTesting", "FerryWorker",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        // The fuzz targets and their committed inputs. The package beside them makes libFuzzer's program of the same files.
        .testTarget(
            name: "FerryFuzzTests",
            dependencies: [
                "CFerry", "FerryAppStore", "FerryAppStoreTesting", "FerryBinary", "FerryBinaryWorld", "FerryC",
                "FerryCommand", "FerryCore", "FerryHTTP1", "FerryHTTP2", "FerryHTTP2World", "FerryMachine",
                "FerryOpenSSL", "FerryServer", "FerryTesting",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/Fuzz/Sources",
            exclude: ["Program.swift"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
