internal import FerryAppStore
internal import FerryCore
internal import FerryTesting

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The simulated App Store of `ferry simulate`: its API, and the notifications that it sends.
struct AppStoreSimulation {
    /// The file in `--tls-dir` with the root of the signatures.
    static let rootName = "app-store-root.pem"

    let server: SimulatedAppStoreServer
    private let making: Task<Void, Never>

    /// - Parameters:
    ///   - directory: where the root of the signatures is written. It is another one at each start.
    ///   - recorder: gets a line for each attempt.
    /// - Throws: ``CommandFailure`` with status 2 when an option cannot be used.
    static func start(
        _ options: SimulatedAppStoreOptions,
        host: String,
        port: Int,
        credentials: TestCredentials,
        directory: String?,
        recorder: GatewayFileRecorder?
    ) async throws -> AppStoreSimulation {
        let maker = try NotificationMaker(app: options.app, environment: options.environment)
        if let directory { try self.write(maker.signer.rootPEM, in: directory) }
        let sender = try self.sender(options, maker, credentials, recorder)
        var configuration = SimulatedAppStoreServer.Configuration(
            credentials: credentials,
            maker: maker,
            sender: sender
        )
        configuration.host = host
        configuration.port = port
        configuration.faults = options.apiFaults
        let server = try await SimulatedAppStoreServer.start(configuration)
        let (count, pause) = (options.appStoreCount, Duration.seconds(1 / options.appStoreRate))
        let making = Task {
            guard let sender else { return }
            await self.make(count, every: pause, maker, sender)
        }
        return AppStoreSimulation(server: server, making: making)
    }

    func stop() async {
        self.making.cancel()
        await self.server.stop()
    }

    private static func sender(
        _ options: SimulatedAppStoreOptions,
        _ maker: NotificationMaker,
        _ credentials: TestCredentials,
        _ recorder: GatewayFileRecorder?
    ) throws -> AppStoreSender? {
        guard let url = options.appStoreUrl else { return nil }
        var configuration = AppStoreSender.Configuration(url: url, signer: maker.signer)
        configuration.trustRoots = credentials.trustRoots
        configuration.options = options.senderOptions
        configuration.clock = .running(speed: options.appStoreSpeed)
        if let recorder { configuration.onAttempt = { recorder.attempted($0, $1) } }
        do {
            return try AppStoreSender(configuration)
        } catch {
            throw CommandFailure.usage("--app-store-url cannot be used: \(Sentence.of(error))")
        }
    }

    /// Makes notifications of all kinds in turn.
    private static func make(
        _ count: Int,
        every pause: Duration,
        _ maker: NotificationMaker,
        _ sender: AppStoreSender
    ) async {
        var maker = maker
        let kinds = SimulatedNotification.Kind.version2
        let start = ContinuousClock.now
        for number in 0..<count {
            do {
                try await Task.sleep(until: start + pause * number, clock: .continuous)
                sender.add(try maker.make(kinds[number % kinds.count], at: sender.now))
            } catch {
                // The task was cancelled.
                return
            }
        }
    }

    private static func write(_ root: [UInt8], in directory: String) throws {
        do {
            try Data(root).write(to: URL(filePath: "\(directory)/\(self.rootName)"))
        } catch {
            throw CommandFailure.usage("\(self.rootName) cannot be written in the directory of --tls-dir.")
        }
    }
}
