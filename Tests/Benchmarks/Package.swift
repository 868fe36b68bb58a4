// swift-tools-version: 6.3
import PackageDescription

// `package` declarations belong to another package here, and so they are seen only by `@testable import`.
// `.ci/benchmarks` asks for a build with -enable-testing.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
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
