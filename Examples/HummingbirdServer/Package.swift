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
                .product(name: "FerryTesting", package: "ferry"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
