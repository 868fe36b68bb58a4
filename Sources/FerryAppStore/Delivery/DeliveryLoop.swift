internal import FerryCore
internal import FerryPlatform

/// A loop that delivers the notifications of a store to one destination, until the loop's task is cancelled or the
/// store begins no further delivery.
///
/// The store keeps a customer's deliveries in order (`StoreFile+CustomerOrder.swift`), and ``DeliveryFlight`` runs one
/// of them at a time.
final class DeliveryLoop: Sendable {
    /// The time after which the task of a delivery is cancelled.
    private static let deliveryLimit: Duration = .seconds(60)
    /// The longest sleep of the loop. Due times are times of the wall clock, and the wall clock may be set while the
    /// loop sleeps.
    private static let longestSleep: Duration = .seconds(60)
    /// The longest pause after a failure of the store. A change in the store ends the pause earlier.
    private static let storePause: Duration = .seconds(1)

    private let store: AppStoreStore
    private let destination: AppStoreDestination
    private let flight = Locked(DeliveryFlight())
    private let onEvent: (@Sendable (AppStoreDeliveryEvent) -> Void)?

    init(
        _ store: AppStoreStore,
        _ destination: AppStoreDestination,
        onEvent: (@Sendable (AppStoreDeliveryEvent) -> Void)?
    ) {
        self.store = store
        self.destination = destination
        self.onEvent = onEvent
    }

    func run() async {
        await withDiscardingTaskGroup { group in
            while true {
                let seen = self.store.changes.count
                guard !self.store.isEnding else { break }
                self.flight.withLock { $0.look() }
                var pause = Self.storePause
                // The limit is larger than the number of deliveries that may run, because the store also returns the
                // running ones.
                if let due = try? await self.store.due(to: self.destination.name, limit: 4 * DeliveryFlight.limit) {
                    for delivery in due.deliveries where self.flight.withLock({ $0.begin(delivery) }) {
                        group.addTask { await self.deliver(delivery, to: due.destination) }
                    }
                    pause = due.next.map { .seconds(max(0, $0.timeIntervalSinceNow)) } ?? Self.longestSleep
                }
                await self.store.changes.wait(beyond: seen, limit: min(pause, Self.longestSleep))
            }
        }
    }

    private func deliver(_ delivery: AppStoreDelivery, to destination: Int64) async {
        let result = await self.attempt(delivery)
        // The store notes the result before the flight ends. In the reverse order, the delivery would be due and not
        // running for a moment, and could begin again.
        await self.store.settle(StoreFile.Attempt(destination: destination, number: delivery.number, result: result))
        self.flight.withLock { $0.end(delivery) }
        self.store.changes.raise()
    }

    private func attempt(_ delivery: AppStoreDelivery) async -> StoreFile.Attempt.Result {
        do {
            try await Self.within(Self.deliveryLimit) { try await self.destination.deliver(delivery) }
            self.onEvent?(.delivered(uuid: delivery.notification.uuid, destination: self.destination.name))
            return .delivered
        } catch {
            // A cancelled task is not a failure of the destination. So the delivery is due again at once.
            let delay =
                Task.isCancelled
                ? .zero : DeliveryBackOff.delay(afterAttempt: delivery.attempt, failing: delivery.failing)
            let reason = (error as? DeliveryFailure)?.description ?? "the handler threw \(type(of: error))"
            self.onEvent?(
                .failed(
                    uuid: delivery.notification.uuid,
                    destination: self.destination.name,
                    reason: reason,
                    again: delay
                )
            )
            guard let delay else { return .dead(because: reason) }
            return .again(
                at: Date.now.addingTimeInterval(delay.timeInterval).milliseconds,
                because: Task.isCancelled ? nil : reason
            )
        }
    }

    /// Runs `body`, and cancels the task of `body` after `limit`. If `body` still returns without an error, the
    /// notification counts as delivered.
    private static func within(_ limit: Duration, _ body: @escaping @Sendable () async throws -> Void) async throws {
        let isLate = Locked(false)
        let task = Task { try await body() }
        let alarm = Alarm(after: limit) {
            isLate.withLock { $0 = true }
            task.cancel()
        }
        defer { alarm.cancel() }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        do {
            try result.get()
        } catch {
            throw isLate.withLock(\.self) ? DeliveryFailure("it took longer than \(limit)") : error
        }
    }
}

/// The reason why an attempt to deliver failed. The text contains no part of the notification.
struct DeliveryFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The result of an attempt to deliver.
@nonexhaustive
public enum AppStoreDeliveryEvent: Sendable {
    /// The destination accepted the notification. The store notes the delivery after this event. After a crash between
    /// the two, the notification is delivered again. `destination` is the ``AppStoreDestination/name``. The name of a
    /// URL contains path and query, which may be secret.
    case delivered(uuid: String, destination: String)
    /// The attempt failed. `again` is the time until the next attempt; nil if the delivery was set aside.
    case failed(uuid: String, destination: String, reason: String, again: Duration?)
    /// The store cannot note the result of deliveries, and tries again each second. Until the write succeeds, these
    /// deliveries count as running: they still count against the limit of 16 for each destination. The text gives the
    /// reason.
    case notNoted(String)
}
