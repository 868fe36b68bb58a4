public import FerryCore

/// A provider that works on event loops: ``BinaryProvider``, ``HTTP2Provider`` and ``MigratingProvider``.
///
/// The extension below implements ``PushProvider`` once for all. Programs use ``PushProvider``, or the concrete types,
/// which document their protocol.
public protocol LoopProvider: PushProvider {
    /// The part of the provider that does not depend on its protocol.
    var body: ProviderBody { get }
}

extension LoopProvider {
    /// The outcomes of a provider that was made with ``OutcomeDelivery/stream``. For other providers the stream ends at
    /// once.
    ///
    /// Cost: O(1). For one consumer, on any task.
    public var outcomes: OutcomeStream { self.body.outcomes }

    /// The number of outcomes of each kind, as of the last turn of each event loop.
    ///
    /// Cost: a lock. Any thread.
    public var counts: OutcomeCounts { self.body.counts }

    /// The trouble with connections, credentials or peer since the peer last answered: see ``PushProvider/lastError``.
    public var lastError: ProviderError? { self.body.lastError }

    /// Takes the notifications of `batch` from its front, as room appears: see ``PushProvider/submit(_:)``.
    ///
    /// There is room while fewer than `queueLimit` notifications wait to be written or for their outcome to be read.
    public func submit(_ batch: inout PushBatch) async throws(SubmitError) {
        try await self.body.submit(&batch)
    }

    /// Takes the notifications that fit at once. Never waits: see ``PushProvider/trySubmit(_:)``.
    public func trySubmit(_ batch: inout PushBatch) {
        self.body.trySubmit(&batch)
    }

    /// Sends one notification and returns its outcome: see ``PushProvider/send(_:to:)``.
    public func send(_ notification: PushNotification, to device: DeviceToken) async throws(SubmitError) -> Outcome {
        try await self.body.send(notification, to: .device(device))
    }

    /// A new subscription to the provider's events: see ``PushProvider/events(bufferingNewest:)``.
    public func events(bufferingNewest limit: Int) -> ProviderEvents {
        self.body.events(bufferingNewest: limit)
    }

    /// Subscribes without ``ProviderEvent/transmitted(_:tags:)``, which costs an event for each write.
    package func eventsWithoutTransmitted(bufferingNewest limit: Int) -> ProviderEvents {
        self.body.events(bufferingNewest: limit, .allButTransmitted)
    }

    /// Waits until everything that was taken has its outcome: see ``PushProvider/drain(within:)``.
    public func drain(within limit: Duration) async -> DrainReport {
        await self.body.drain(within: limit)
    }

    /// Takes no more notifications, sends those that were taken, and gives each its outcome: see
    /// ``PushProvider/shutDown(within:proof:)``.
    public func shutDown(within limit: Duration, proof: Proof) async -> DrainReport {
        await self.body.shutDown(within: limit, proof: proof)
    }
}
