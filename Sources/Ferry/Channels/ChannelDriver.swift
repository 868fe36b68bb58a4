internal import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import Logging
internal import NIOCore

/// Runs a ``ChannelClient`` on an event loop: carries out its steps, and returns its results.
///
/// `@unchecked Sendable`: other threads use only `calls` and the methods for any thread. Everything else is used on the
/// event loop only.
final class ChannelDriver: @unchecked Sendable {
    let loop: MachineLoop
    private let calls: ChannelCalls
    private let connector: ProviderConnector
    private let tokens: ProviderTokenSource?
    let logger: Logger
    private var machine: ChannelClient
    var connections: [ConnectionID: ConnectionHandler] = [:]
    var dials: [ConnectionID: Dial] = [:]
    private var bytes = ByteBuffer()

    init(_ configuration: ChannelManagerConfiguration, connector: ProviderConnector) {
        let connections = configuration.connections
        self.loop = MachineLoop(on: configuration.eventLoopGroup.next())
        self.connector = connector
        self.tokens = connections.tokens
        self.logger = configuration.logger
        self.calls = ChannelCalls(limit: configuration.callLimit)
        self.machine = ChannelClient(
            authority: connections.authority,
            peer: connector.tls.peer,
            bundleID: configuration.bundleID,
            usesTokens: connections.tokens != nil,
            deadline: configuration.deadline,
            listLimit: configuration.listLimit
        )
        // The loop has closed the channels already.
        self.loop.watchEnd { [weak self] in self?.endNow() }
    }

    // MARK: Any thread

    /// Makes a call, and waits for its result.
    func call(
        _ operation: ChannelOperation,
        _ requestID: APNSID?
    ) async throws(ChannelManagerError) -> ChannelResult {
        // The request would leave before the cancellation reaches the loop.
        guard !Task.isCancelled else {
            throw ChannelManagerError(.cancelled, "The task was cancelled before the call. Nothing was changed.")
        }
        let number = try self.calls.begin()
        let requestID = requestID ?? .random()
        self.loop.eventLoop.execute {
            self.machine.submit(operation, call: number, requestID: requestID, now: .now)
            self.run()
        }
        let answer = await withTaskCancellationHandler {
            await self.calls.result(of: number)
        } onCancel: {
            self.loop.execute {
                self.machine.cancel(number, now: .now)
                self.run()
            }
        }
        return try answer.get()
    }

    func shutDown() async {
        self.loop.execute {
            self.machine.shutDown(now: .now)
            self.run()
        }
        await self.calls.waitForEnd()
    }

    /// Closes everything at once.
    func abandon() { self.loop.execute { self.endNow() } }

    /// The error for a result of another operation. The machine never returns one.
    static var wrongResult: ChannelManagerError {
        ChannelManagerError(.invalidAnswer, "The answer is to another request: report this to Ferry's developers.")
    }

    // MARK: The loop

    /// Does all work that is possible now.
    func run() {
        self.loop.run {
            self.carryOut()
            if let deadline = self.machine.nextDeadline, deadline <= .now() { self.machine.tick(now: .now) }
            self.carryOut()
            for connection in self.connections.values { self.write(to: connection) }
            self.carryOut()
            for settled in self.machine.takeSettled() { self.settle(settled) }
        } afterwards: {
            self.schedule()
            if self.machine.isFinished { self.finish() }
        }
    }

    private func settle(_ settled: ChannelClient.Settled) {
        if case .failure(let error) = settled.result {
            self.logger.debug("a call about channels failed", metadata: ["apns.error": "\(error)"])
        }
        self.calls.settle(settled.call, settled.result)
    }

    private func carryOut() {
        var steps = self.machine.takeSteps()
        while !steps.isEmpty {
            for step in steps { self.carryOut(step) }
            steps = self.machine.takeSteps()
        }
    }

    private func carryOut(_ step: ConnectionStep) {
        switch step {
        case .dial(let id): self.dial(id)
        case .close(let id): self.close(id)
        case .finish(let id): self.connections[id]?.finish()
        case .refused(let reason, let token): self.tokens?.refused(reason, token, now: .now())
        case .sample: break
        }
    }

    private func write(to connection: ConnectionHandler) {
        if self.machine.needsAuthorization { self.authorize() }
        while connection.isWritable {
            self.bytes.clear()
            let isWritten = self.machine.write(
                connection.id,
                into: &self.bytes,
                atMost: HTTP2Client.chunk,
                now: .now
            )
            guard isWritten else { return }
            self.machine.flushed(connection.id, at: connection.send(self.bytes))
            // A refused token must be refused at its source before the next is asked for.
            self.carryOut()
            if self.machine.needsAuthorization { self.authorize() }
        }
    }

    private func authorize() {
        guard let tokens else { return }
        let now = Moment.now
        let authorization = tokens.authorization(now: now.monotonic, epochSeconds: now.epochSeconds)
        self.machine.authorized(authorization, failure: tokens.failure, now: now)
    }

    private func schedule() {
        guard let deadline = self.machine.nextDeadline else { return self.loop.stopTimer() }
        if self.loop.needsTimer(by: deadline) { self.loop.setTimer(at: deadline) { self.run() } }
    }

    // MARK: The end

    /// Ends every call, and closes every connection.
    private func endNow() {
        let handed = self.connections.mapValues(\.transport.handed)
        self.machine.abandon(handed: { handed[$0] ?? 0 }, now: .now)
        self.run()
    }

    private func finish() {
        guard !self.loop.isOver else { return }
        self.loop.end()
        self.calls.end()
    }
}

extension ChannelDriver: ConnectionOwner {
    func connector(of id: ConnectionID) -> ProviderConnector { self.connector }

    func connected(_ id: ConnectionID) { self.machine.connected(id, now: .now) }

    func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64) {
        self.machine.ended(id, end, handed: handed, now: .now)
    }

    func received(_ bytes: ByteBuffer, on connection: ConnectionHandler) {
        self.machine.received(connection.id, bytes, now: .now)
        self.run()
    }

    func writabilityChanged(_ connection: ConnectionHandler) { self.run() }
}
