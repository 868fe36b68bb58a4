// swift-tools-version: 6.3
import Foundation
import PackageDescription

// `package` declarations belong to another package here. A build with -enable-testing, as debug builds have it and
// `.ci/fuzz` asks for it, gives them to who imports a module as testable, and so the sources of Ferry that are linked in
// from elsewhere need not do so themselves.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .unsafeFlags(
        ["FerryCore", "FerryMachine", "FerryBinary", "FerryHTTP2", "FerryTesting"].flatMap {
            ["-Xfrontend", "-testable-import-module", "-Xfrontend", $0]
        }
    ),
]

// A target is a directory with one file or more. Nothing lists them.
let sources = Context.packageDirectory + "/Sources"
let targets = try FileManager.default.contentsOfDirectory(atPath: sources).filter { $0 != "FuzzSupport" }.sorted()

func dependencies(of target: String) -> [Target.Dependency] {
    ["FuzzSupport"] + (target == "PushLines" ? [.product(name: "FerryCommand", package: "ferry")] : [])
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
