internal import FerryAppStore
internal import FerryAppStoreTesting
internal import FerryCore
internal import FerryTerminal
internal import FerryTesting

/// The simulated App Store of `ferry simulate`: its API, and the notifications that it sends.
struct AppStoreSimulation {
    let server: SimulatedAppStoreServer
    private let making: Task<Void, Never>
    /// Nil if nothing is sent.
    private let tally: PostTally?

    /// The posts so far. Nil if nothing is sent.
    var posts: PostCounts? { self.tally?.counts }

    /// - Parameters:
    ///   - directory: the directory that keeps the root of the signatures; nil for a new root.
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
        // Each simulation has a new seed. With an old one, a receiver would take its notifications for copies.
        let maker = try NotificationMaker(
            app: options.app,
            environment: options.environment,
            signer: self.signer(directory),
            seed: .random(in: 0...UInt64.max)
        )
        let tally = PostTally()
        let sender = try self.sender(options, maker, credentials) { notification, attempt in
            tally.add(attempt.answer)
            recorder?.attempted(notification, attempt)
        }
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
        return AppStoreSimulation(server: server, making: making, tally: sender == nil ? nil : tally)
    }

    func stop() async {
        self.making.cancel()
        await self.server.stop()
    }

    private static func sender(
        _ options: SimulatedAppStoreOptions,
        _ maker: NotificationMaker,
        _ credentials: TestCredentials,
        onAttempt: @escaping @Sendable (SimulatedNotification, NotificationSender.Attempt) -> Void
    ) throws -> AppStoreSender? {
        guard let url = options.appStoreUrl else { return nil }
        var configuration = AppStoreSender.Configuration(url: url, signer: maker.signer)
        configuration.trustRoots = credentials.trustRoots
        configuration.options = options.senderOptions
        configuration.clock = .running(speed: options.appStoreSpeed)
        configuration.onAttempt = onAttempt
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
                // The task was cancelled, or a notification could not be made.
                return
            }
        }
    }

    private static func signer(_ directory: String?) throws(CommandFailure) -> AppStoreSigner? {
        guard let directory else { return nil }
        do {
            return try AppStoreSigner(root: AppStoreRootFile.open(directory))
        } catch {
            throw CommandFailure.usage(
                "The root of the App Store's signatures in --tls-dir cannot be used: \(Sentence.of(error))"
            )
        }
    }
}

/// The posts of a run. Any thread.
private final class PostTally: Sendable {
    private let state = Locked(PostCounts())

    var counts: PostCounts { self.state.withLock { $0 } }

    func add(_ answer: NotificationAnswer) { self.state.withLock { $0.add(answer) } }
}
