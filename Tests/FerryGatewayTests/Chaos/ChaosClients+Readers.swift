import Ferry
import FerryBinary
import FerryCore
import FerryMachine
import FerryTesting
import Logging
import NIOCore

// The clients that read.
extension ChaosClients {
    // MARK: Feedback

    mutating func readFeedback() async throws {
        // Any client may be the one whose devices are gone.
        let manner = ChaosManner.allCases.randomElement(using: &self.random) ?? .ferry
        if self.isOne(in: 4) {
            let connection = try await self.site.connectToFeedback(manner)
            await connection.reset()
        } else {
            try await self.site.readFeedback(of: manner)
        }
    }

    // MARK: An old library that sends again

    /// What such a library has written.
    private struct Cache {
        let limit: Int
        var entries: [(identifier: UInt32, push: ChaosPush)] = []
        var identifier: UInt32

        mutating func append(_ push: ChaosPush) -> UInt32 {
            self.identifier &+= 1
            self.entries.append((self.identifier, push))
            if self.entries.count > self.limit { self.entries.removeFirst() }
            return self.identifier
        }
    }

    mutating func resend() async throws {
        let address = self.address()
        let command = UInt8.random(in: 1...2, using: &self.random)
        let closesAtOnce = Bool.random(using: &self.random)
        var cache = Cache(
            limit: .random(in: 50...200, using: &self.random),
            identifier: .random(in: 0...1000, using: &self.random)
        )
        var connection = try await self.site.connect(.resends, from: address)
        var pushes: [ChaosPush] = []
        try await self.atRandomPace(atMost: 8) { clients, count in
            connection = try await clients.react(connection, &cache, command, address, closesAtOnce)
            var bytes: [UInt8] = []
            for _ in 0..<count {
                let push = clients.site.push(using: &clients.random)
                clients.site.account.wrote(push.number, .resends)
                pushes.append(push)
                bytes += push.bytes(command: command, identifier: cache.append(push))
            }
            try await connection.write(bytes)
        }
        // Many libraries listen for a while when they have written everything.
        for _ in 0..<min(self.site.pace.clientLives.upperBound / 100, 30) {
            connection = try await self.react(connection, &cache, command, address, closesAtOnce)
            try await Task.sleep(for: .milliseconds(100))
        }
        if await connection.finish() { self.owe(pushes) } else { self.site.account.broke() }
    }

    /// After an error response, sends again what followed on a new connection.
    private func react(
        _ connection: ChaosConnection,
        _ cache: inout Cache,
        _ command: UInt8,
        _ address: String?,
        _ closesAtOnce: Bool
    ) async throws -> ChaosConnection {
        guard case let bytes = connection.received, bytes.count == ErrorResponse.length else { return connection }
        let identifier = bytes[2...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let named = cache.entries.firstIndex { $0.identifier == identifier }
        if let named, bytes[1] != BinaryStatus.shutdown.rawValue {
            self.site.account.blamed(cache.entries[named].push.number)
        }
        // If the cache has it no more, everything in the cache followed it.
        cache.entries.removeFirst(named.map { $0 + 1 } ?? 0)
        if closesAtOnce {
            await connection.abandon()
        } else if await !connection.finish() {
            self.site.account.broke()
        }
        let next = try await self.site.connect(.resends, from: address)
        let copies = cache.entries.flatMap { $0.push.bytes(command: command, identifier: $0.identifier) }
        for entry in cache.entries {
            self.site.account.wrote(entry.push.number, .resends, "again after \(bytes[1]) for \(identifier)")
        }
        if !copies.isEmpty { try await next.write(copies) }
        return next
    }

    // MARK: Ferry

    /// Notes which pushes a provider may rely on.
    private struct Outcomes: OutcomeSink {
        let account: ChaosAccount

        func settled(_ outcomes: Span<OutcomeRecord>) {
            for index in outcomes.indices {
                let number = UInt32(truncatingIfNeeded: outcomes[index].tag.rawValue)
                switch outcomes[index].outcome {
                case .accepted:
                    self.account.owes(number)
                case .rejected:
                    self.account.owes(number)
                    self.account.blamed(number)
                default:
                    break
                }
            }
        }
    }

    private mutating func configuration() -> BinaryConfiguration {
        var configuration = BinaryConfiguration(
            host: self.site.host,
            port: self.site.port,
            identity: self.site.identities[ChaosManner.ferry.rawValue],
            outcomes: .sink(Outcomes(account: self.site.account))
        )
        configuration.trustRoots = self.site.credentials.trustRoots
        configuration.serverName = "localhost"
        configuration.logger = Logger(label: "chaos") { _ in SwiftLogNoOpLogHandler() }
        let commands: [BinaryOptions.Command] = [.simple, .enhanced, .frame, .frame]
        configuration.options.command = commands.randomElement(using: &self.random) ?? .frame
        configuration.options.cacheLength = .random(in: 50...1000, using: &self.random)
        configuration.options.autoAdjustCache = .random(using: &self.random)
        configuration.options.cachePolicy = self.isOne(in: 3) ? .evict : .hold
        configuration.options.probeWhenHeld = self.isOne(in: 4)
        configuration.options.onUnknown = self.isOne(in: 3) ? .report : .resend
        configuration.options.finality = self.isOne(in: 4) ? .proof : .silence
        configuration.options.settleTime = .milliseconds(Int.random(in: 50...1500, using: &self.random))
        configuration.options.maxConnections = .random(in: 1...3, using: &self.random)
        return configuration
    }

    mutating func sendByFerry() async throws {
        let provider = try BinaryProvider(self.configuration())
        let (account, events) = (self.site.account, provider.events(bufferingNewest: 10_000))
        async let watching: Void = {
            for await event in events {
                switch event {
                case .connected: account.connected()
                case .transmitted(let id, let tags):
                    for tag in tags { account.wrote(UInt32(truncatingIfNeeded: tag.rawValue), .ferry, "\(id)") }
                default: break
                }
            }
        }()
        try? await self.atRandomPace(atMost: 100) { clients, count in
            var batch = PushBatch()
            for _ in 0..<count {
                // A provider refuses a faulty payload itself.
                var push = clients.site.push(using: &clients.random)
                if push.kind == .faulty { push = clients.site.push(.good, using: &clients.random) }
                let notification = try PushNotification(json: push.payload)
                try batch.append(notification, to: DeviceToken(push.token), tag: PushTag(UInt64(push.number)))
            }
            try await provider.submit(&batch)
        }
        let proof: Proof = Bool.random(using: &self.random) ? .automatic : .silence
        _ = await provider.shutDown(within: .seconds(120), proof: proof)
        await watching
    }
}

extension ChaosSite {
    func connectToFeedback(_ manner: ChaosManner) async throws -> ChaosConnection {
        self.account.connected()
        return try await ChaosConnection.open(to: self.host, port: self.feedbackPort, self.contexts[manner.rawValue])
    }

    /// Reads the feedback list of a client to its end.
    func readFeedback(of manner: ChaosManner) async throws {
        let connection = try await self.connectToFeedback(manner)
        guard await connection.readToEnd() else { return self.account.broke() }
        var decoder = FeedbackDecoder()
        decoder.append(ByteBuffer(bytes: connection.received))
        while let row = decoder.next() { self.account.readRow(row.token.bytes) }
    }
}
