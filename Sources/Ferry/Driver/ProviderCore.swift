internal import FerryCore
internal import NIOCore

/// What every provider does for its callers, whatever its wire: the methods of ``PushProvider``, on any thread.
///
/// A provider holds one and nothing else; when it is dropped, so is this, and what was not settled is released.
final class ProviderCore<Wire: ProviderWire & ~Copyable>: Sendable {
    private let driver: ProviderDriver<Wire>

    init(_ wire: consuming Wire, connector: ProviderConnector, options: ProviderDriver<Wire>.Options) {
        self.driver = ProviderDriver(wire, connector: connector, options: options)
    }

    deinit {
        let driver = self.driver
        guard !driver.calls.haveEnded else { return }
        driver.eventLoop.execute { driver.abandon(undelivered: .released, uncertain: .released) }
    }

    var outcomes: OutcomeStream {
        if let buffer = self.driver.stream { return OutcomeStream(buffer: buffer) }
        let empty = OutcomeBuffer {}
        empty.finish()
        return OutcomeStream(buffer: empty)
    }

    func submit(_ batch: inout PushBatch) async throws(SubmitError) {
        while !batch.isEmpty {
            try self.checkCancellation()
            if case .closed = self.driver.offer(&batch) { throw .shutDown }
            if !batch.isEmpty { await self.driver.queue.waitForRoom() }
        }
    }

    private func checkCancellation() throws(SubmitError) {
        guard Task.isCancelled else { return }
        // The room that this task was woken for is another's.
        self.driver.queue.admit()
        throw .cancelled
    }

    func trySubmit(_ batch: inout PushBatch) {
        _ = self.driver.offer(&batch)
    }

    func send(_ notification: PushNotification, to device: DeviceToken) async throws(SubmitError) -> Outcome {
        let awaited = AwaitedOutcome()
        let tag = awaited.makeTag()
        do {
            try await self.submit(notification, to: device, awaited: tag)
        } catch {
            AwaitedOutcome.discard(tag)
            throw error
        }
        return await withTaskCancellationHandler {
            await awaited.value
        } onCancel: {
            self.driver.withdraw(awaited)
        }
    }

    private func submit(
        _ notification: PushNotification,
        to device: DeviceToken,
        awaited tag: UInt64
    ) async throws(SubmitError) {
        while true {
            try self.checkCancellation()
            switch self.driver.offer(notification, to: device, awaited: tag) {
            case .closed: throw .shutDown
            case .full: await self.driver.queue.waitForRoom()
            case .taken: return
            }
        }
    }

    func events(bufferingNewest limit: Int, takesTransmitted: Bool = true) -> ProviderEvents {
        self.driver.events.subscribe(bufferingNewest: limit, takesTransmitted: takesTransmitted)
    }

    func drain(within limit: Duration) async -> DrainReport {
        let driver = self.driver
        return await driver.calls.wait { call in
            driver.eventLoop.execute { driver.drain(within: TimeAmount(limit), call: call) }
        }
    }

    func shutdown(within limit: Duration, proof: Proof) async -> DrainReport {
        let driver = self.driver
        return await driver.calls.wait { call in
            driver.eventLoop.execute { driver.shutDown(within: TimeAmount(limit), proof: proof, call: call) }
        }
    }
}
