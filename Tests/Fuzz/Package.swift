// swift-tools-version: 6.3
import Foundation
import PackageDescription

// `package` declarations belong to another package here, and so they are seen only by `@testable import`. `.ci/fuzz` asks
// for a build with -enable-testing, as debug builds have it.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// A target is a directory with one file or more. Nothing lists them.
let sources = Context.packageDirectory + "/Sources"
let targets = try FileManager.default.contentsOfDirectory(atPath: sources).filter { $0 != "FuzzSupport" }.sorted()

func dependencies(of target: String) -> [Target.Dependency] {
    switch target {
    case "CCalls": ["FuzzSupport", .product(name: "ferryc", package: "ferry")]
    case "PushLines": ["FuzzSupport", .product(name: "FerryCommand", package: "ferry")]
    case "Schedules", "HTTP2Schedules": ["FuzzSupport", .product(name: "FerryWorlds", package: "ferry")]
    default: ["FuzzSupport"]
    }
}

let package = Package(
    name: "fuzz",
    platforms: [.macOS("26.0")],
    dependencies: [
        .package(name: "ferry", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    ],
    targets: [
        .target(
            name: "FuzzSupport",
            dependencies: [
                .product(name: "FerryTesting", package: "ferry"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        )
    ] + targets.map { .executableTarget(name: $0, dependencies: dependencies(of: $0), swiftSettings: settings) },
    swiftLanguageModes: [.v6]
)
