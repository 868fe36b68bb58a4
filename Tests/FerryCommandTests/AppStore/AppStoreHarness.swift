import FerryAppStoreTesting
import FerryCore
import FerryTesting
import Foundation
import NIOCore
import NIOPosix

@testable import FerryCommand

/// `ferry appstore serve`, an application behind it, and a simulated App Store in front, each with real sockets.
struct AppStoreHarness {
    let directory: TemporaryDirectory
    /// The URL of the application.
    let application: String

    /// Calls `body` with a harness whose application answers as `status` says.
    ///
    /// - Parameter status: the status of the answer to a post; the argument counts posts from 1.
    static func run(
        answering status: @escaping @Sendable (Int) -> Int = { _ in 200 },
        _ body: (AppStoreHarness) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            _ = try TLSDirectory.open(directory.path("tls"))
            _ = try AppStoreRootFile.open(directory.path("tls"))
            _ = try directory.write("secret", "whsec_\(Data(repeating: 7, count: 32).base64EncodedString())\n")
            let posts = Locked(0)
            let server = ReceiverServer { _, _ in
                let count = posts.withLock { count in
                    count += 1
                    return count
                }
                return .init(status: status(count))
            }
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers(server.handlers())
                    }
                }
                .bind(host: "127.0.0.1", port: 0)
                .get()
            let port = listener.localAddress?.port ?? 0
            do {
                try await body(
                    AppStoreHarness(directory: directory, application: "http://127.0.0.1:\(port)/notifications")
                )
            } catch {
                try await listener.close().get()
                throw error
            }
            try await listener.close().get()
        }
    }

    var root: [String] { ["--root", self.directory.path("tls/app-store-root.pem")] }
    var store: [String] { ["--store", self.directory.path("store.db")] }

    /// Starts the receiver.
    func serve(_ options: [String] = []) async throws -> (FerryProgram, port: Int) {
        let program = try FerryProgram(
            ["appstore", "serve", "--app", "com.example.app:1234567890", "--listen", "0", "--plain"] + self.root
                + self.store + ["--forward", self.application, "--forward-secret-file", self.directory.path("secret")]
                + options,
            in: self.directory
        )
        return (program, try await self.port(of: program, "http"))
    }

    /// Starts the App Store. It sends to the receiver at `port`.
    func simulate(_ port: Int, count: Int, _ options: [String] = []) async throws -> (FerryProgram, api: [String]) {
        let tls = self.directory.path("tls")
        let program = try FerryProgram(
            ["simulate", "--app-store", "0", "--app-store-url", "http://127.0.0.1:\(port)/", "--tls-dir", tls]
                + ["--app-store-count", "\(count)", "--app-store-rate", "1000"] + options,
            in: self.directory
        )
        let api = try await self.port(of: program, "appStore")
        let options =
            ["--app", "com.example.app", "--environment", "production", "--api", "https://localhost:\(api)"]
            + ["--ca", "\(tls)/ca.pem", "--p8", "\(tls)/token-key.p8", "--key-id", "FERRYKEY01"]
            + ["--issuer-id", "FERRYTEAM1"] + self.root
        return (program, options)
    }

    func ferry(_ arguments: [String]) async throws -> FerryProgram.Output {
        try await FerryProgram.run(["appstore"] + arguments, in: self.directory)
    }

    /// The stored notifications, as `ferry appstore list` prints them.
    func list(_ options: [String] = []) async throws -> [StoredLine] {
        let output = try await self.ferry(["list", "--limit", "1000"] + self.store + options)
        return try output.result.split(separator: "\n").map {
            try JSONDecoder().decode(StoredLine.self, from: Data($0.utf8))
        }
    }

    /// Waits until `count` notifications are stored, and all are in the state.
    func settled(_ count: Int, _ state: String) async throws -> [StoredLine] {
        var lines: [StoredLine] = []
        while lines.count != count || !lines.allSatisfy({ $0.deliveries.allSatisfy { $0.state == state } }) {
            try await Task.sleep(for: .milliseconds(50))
            lines = try await self.list()
        }
        return lines
    }

    struct StoredLine: Decodable {
        struct Delivery: Decodable {
            var state: String
            var attempts: Int
        }

        var uuid: String
        var deliveries: [Delivery]
    }

    private func port(of program: FerryProgram, _ name: String) async throws -> Int {
        _ = try await eventually { try program.result.hasSuffix("}\n") }
        let ports = try JSONDecoder().decode([String: Int].self, from: Data(program.result.utf8))
        return ports[name] ?? 0
    }
}
