public import FerryCore
internal import Synchronization

/// Remembers what a ``SimulatedGateway`` accepted, for tests to look at. Safe from any thread.
public final class GatewayMemoryRecorder: GatewayRecorder {
    /// An accepted notification with its bytes.
    public struct Notification: Hashable, Sendable {
        /// What it said beside token and payload.
        public var accepted: AcceptedNotification
        /// To whom.
        public var token: DeviceToken
        /// As it came.
        public var payload: [UInt8]
    }

    private struct Storage {
        var notifications: [Notification] = []
        var counts: [DeviceToken: Int] = [:]
    }

    private let storage = Mutex(Storage())

    /// A recorder that remembers nothing yet.
    public init() {}

    /// Copies the notification. Memory grows by its bytes.
    public func accepted(_ notification: AcceptedNotification, token: Span<UInt8>, payload: Span<UInt8>) {
        let device = DeviceToken(unchecked: Self.copy(token))
        let copy = Notification(accepted: notification, token: device, payload: Self.copy(payload))
        self.storage.withLock { storage in
            storage.notifications.append(copy)
            storage.counts[device, default: 0] += 1
        }
    }

    /// Everything that was accepted: in order for each connection, interleaved between them.
    public var notifications: [Notification] {
        self.storage.withLock { $0.notifications }
    }

    /// How many notifications each device got.
    public var counts: [DeviceToken: Int] {
        self.storage.withLock { $0.counts }
    }

    /// The devices that got more than one notification, and how many.
    public var duplicates: [DeviceToken: Int] {
        self.counts.filter { $0.value > 1 }
    }

    /// Forgets everything.
    public func removeAll() {
        self.storage.withLock { $0 = Storage() }
    }

    private static func copy(_ bytes: Span<UInt8>) -> [UInt8] {
        bytes.withUnsafeBufferPointer(Array.init)
    }
}
