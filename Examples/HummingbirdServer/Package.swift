// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that Ferry itself does not depend on Hummingbird. In a package of yours, name Ferry by its
// address and version.
let package = Package(
    name: "push-server",
    platforms: [.macOS("26.0")],
    dependencies: [
        .package(name: "ferry", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        // For the tests.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(
            name: "PushAPI",
            dependencies: [
                .product(name: "Ferry", package: "ferry"),
                .product(name: "FerryAppStore", package: "ferry"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ]
        ),
        .executableTarget(
            name: "PushServer",
            dependencies: [
                "PushAPI",
                .product(name: "Ferry", package: "ferry"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ]
        ),
        .testTarget(
            name: "PushAPITests",
            dependencies: [
                "PushAPI",
                .product(name: "Ferry", package: "ferry"),
                .product(name: "FerryAppStore", package: "ferry"),
                .product(name: "FerryAppStoreTesting", package: "ferry"),
                .product(name: "FerryTesting", package: "ferry"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
