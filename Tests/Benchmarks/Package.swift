// swift-tools-version: 6.3
import PackageDescription

// `package` declarations belong to another package here. A build with -enable-testing, which `.ci/benchmarks` asks for,
// gives them to who imports a module as testable; the linked sources of Ferry need not do so themselves.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .unsafeFlags(
        ["FerryCore", "FerryMachine", "FerryBinary"].flatMap {
            ["-Xfrontend", "-testable-import-module", "-Xfrontend", $0]
        }
    ),
]

let package = Package(
    name: "benchmarks",
    platforms: [.macOS("26.0")],
    dependencies: [
        .package(name: "ferry", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    ],
    targets: [
        .target(name: "CAllocationCounter"),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "CAllocationCounter",
                .product(name: "FerryCommand", package: "ferry"),
                .product(name: "FerryTesting", package: "ferry"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
