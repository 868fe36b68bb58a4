public import FerryCore
public import FerryOpenSSL
internal import NIOCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A provider that speaks the legacy binary protocol.
///
/// It works on one event loop of the configured group, with up to `maxConnections` connections, which are made when
/// there is work and closed when they were idle for `connectionTimeout`. All methods may be called from any thread.
///
/// A provider should be shut down: ``shutdown(within:proof:)``, or ``withProvider(_:_:)``, which does it. When the last
/// reference is dropped instead, what was not written ends as `undelivered(.released)`, what was written and is not
/// settled as `uncertain(.released)`, and the connections are closed.
public final class BinaryProvider: PushProvider {
    private let driver: BinaryDriver

    /// Makes a provider; connections come with work.
    ///
    /// Reads the trust roots, which may be a file.
    ///
    /// - Throws: ``TLSError`` when the certificate has expired or is not valid yet, when OpenSSL refuses the
    ///   credentials, or when the trust roots cannot be read.
    public init(_ configuration: BinaryConfiguration) throws(TLSError) {
        try configuration.identity?.validate(at: .now)
        self.driver = BinaryDriver(configuration, connector: try BinaryConnector(configuration))
    }

    deinit {
        let driver = self.driver
        guard !driver.calls.haveEnded else { return }
        driver.eventLoop.execute { driver.abandon(undelivered: .released, uncertain: .released) }
    }

    /// The outcomes, when the provider was made with ``OutcomeDelivery/stream``; else it ends at once.
    ///
    /// Cost: O(1). For one consumer, on any task.
    public var outcomes: OutcomeStream {
        if let buffer = self.driver.stream { return OutcomeStream(buffer: buffer) }
        let empty = OutcomeBuffer {}
        empty.finish()
        return OutcomeStream(buffer: empty)
    }

    /// Takes the notifications of `batch` from its front, as room appears: see ``PushProvider/submit(_:)``.
    ///
    /// There is room while fewer than `queueLimit` notifications wait to be written or for their outcome to be read.
    public func submit(_ batch: inout PushBatch) async throws(SubmitError) {
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

    /// Takes what fits at once and never waits: see ``PushProvider/trySubmit(_:)``.
    public func trySubmit(_ batch: inout PushBatch) {
        _ = self.driver.offer(&batch)
    }

    /// Sends one notification and returns its outcome: see ``PushProvider/send(_:to:)``.
    ///
    /// Without an error response the outcome comes after a round trip and the settle time.
    public func send(_ notification: PushNotification, to device: DeviceToken) async throws(SubmitError) -> Outcome {
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

    /// A new subscription to the provider's events: see ``PushProvider/events(bufferingNewest:)``.
    public func events(bufferingNewest limit: Int) -> ProviderEvents {
        self.driver.events.subscribe(bufferingNewest: limit)
    }

    /// Waits until everything that was taken has its outcome: see ``PushProvider/drain(within:)``.
    ///
    /// Takes a round trip and the settle time from the last write, if nothing goes wrong.
    public func drain(within limit: Duration) async -> DrainReport {
        let driver = self.driver
        return await driver.calls.wait { call in
            driver.eventLoop.execute { driver.drain(within: TimeAmount(limit), call: call) }
        }
    }

    /// Takes nothing more, sends what was taken, and gives every notification its outcome: see
    /// ``PushProvider/shutdown(within:proof:)``.
    ///
    /// Once all have theirs, each connection is half-closed and listened to until the peer ends it, for at most 5 s of
    /// `limit`: an error response may still be on its way, and what it discards is sent again.
    public func shutdown(within limit: Duration, proof: Proof = .silence) async -> DrainReport {
        let driver = self.driver
        return await driver.calls.wait { call in
            driver.eventLoop.execute { driver.shutDown(within: TimeAmount(limit), proof: proof, call: call) }
        }
    }
}
