// swift-tools-version: 6.3
import PackageDescription

// `package` declarations belong to another package here, so only `@testable import` shows them. It needs a build with
// -enable-testing, which `.ci/benchmarks` makes.
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
