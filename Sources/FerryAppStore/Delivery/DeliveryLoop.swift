internal import FerryCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Delivers the notifications of a store to one destination, until its task is cancelled.
final class DeliveryLoop: Sendable {
    /// After this time, the task of a delivery is cancelled.
    private static let deliveryLimit: Duration = .seconds(60)
    /// How long the loop sleeps at most. Clocks are changed, and a due time is one of the wall clock.
    private static let longestSleep: Duration = .seconds(60)
    /// How long the loop waits after the store failed.
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
                // More than may be under way: the rows of those that are under way come back, too.
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
        // The store first: a delivery that is neither noted nor under way would begin again.
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
            // The end of the process is no failure of the destination.
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

    /// Runs `body`, and cancels it after `limit`. If it then ends well, the notification is delivered all the same.
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

/// Why a delivery must be tried again, in words that hold nothing of the notification.
struct DeliveryFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// What became of an attempt to deliver.
@nonexhaustive
public enum AppStoreDeliveryEvent: Sendable {
    /// The destination took the notification. The store notes it after this event, so after a crash between the two the
    /// notification comes once more. `destination`: its ``AppStoreDestination/name``. For a URL it holds path and query,
    /// which may be secret.
    case delivered(uuid: String, destination: String)
    /// `again`: the time until the next attempt. Nil: the delivery was set aside.
    case failed(uuid: String, destination: String, reason: String, again: Duration?)
    /// The store cannot note what was delivered, and tries again each second. Nothing begins in the place of these
    /// deliveries meanwhile.
    case notNoted(String)
}
