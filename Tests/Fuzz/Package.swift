// swift-tools-version: 6.3
import PackageDescription

// `package` declarations belong to another package here, and so they are seen only by `@testable import`. `.ci/fuzz` asks
// for a build with -enable-testing, as debug builds have it.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "fuzz",
    platforms: [.macOS("26.0")],
    dependencies: [
        .package(name: "ferry", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    ],
    targets: [
        // One program for all targets. Ferry's own tests compile the same files, and replay the committed inputs.
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                .product(name: "FerryAppStoreTesting", package: "ferry"),
                .product(name: "FerryC", package: "ferry"),
                .product(name: "FerryCommand", package: "ferry"),
                .product(name: "FerryTesting", package: "ferry"),
                .product(name: "FerryWorlds", package: "ferry"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Sources",
            exclude: ["CorpusTests.swift"],
            swiftSettings: settings
        )
    ],
    swiftLanguageModes: [.v6]
)
