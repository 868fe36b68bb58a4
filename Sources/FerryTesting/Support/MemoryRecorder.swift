public import FerryCore

/// A recorder that keeps the notifications that a ``SimulatedGateway`` accepted, for tests.
public typealias GatewayMemoryRecorder = MemoryRecorder<AcceptedNotification>

/// A recorder that keeps the requests that a ``SimulatedAPNs`` accepted, for tests.
public typealias APNsMemoryRecorder = MemoryRecorder<AcceptedRequest>

/// A recorder that keeps everything that a simulated service accepted, for tests. Safe from any thread.
///
/// Memory grows with the bytes of all accepted notifications, until ``removeAll()``.
public final class MemoryRecorder<Accepted: Hashable & Sendable>: Sendable {
    /// An accepted notification, with its token and payload.
    public struct Push: Hashable, Sendable {
        /// The fields other than token and payload.
        public var accepted: Accepted
        /// The device token.
        public var token: DeviceToken
        /// The payload, unchanged.
        public var payload: [UInt8]
    }

    private let storage = Locked<[Push]>([])

    /// Creates an empty recorder.
    public init() {}

    /// Keeps a copy of an accepted notification.
    public func accepted(_ accepted: Accepted, token: Span<UInt8>, payload: Span<UInt8>) {
        let device = DeviceToken(unchecked: token.withUnsafeBufferPointer(Array.init))
        let copy = Push(accepted: accepted, token: device, payload: payload.withUnsafeBufferPointer(Array.init))
        self.storage.withLock { $0.append(copy) }
    }

    /// Everything that was accepted: in order for each connection, interleaved between them.
    fileprivate var all: [Push] { self.storage.withLock { $0 } }

    /// The number of notifications of each device. O(notifications).
    public var counts: [DeviceToken: Int] {
        self.all.reduce(into: [:]) { $0[$1.token, default: 0] += 1 }
    }

    /// Forgets everything.
    public func removeAll() {
        self.storage.withLock { $0 = [] }
    }
}

extension MemoryRecorder: GatewayRecorder where Accepted == AcceptedNotification {
    /// An accepted notification with its bytes.
    public typealias Notification = Push

    /// Everything that was accepted: in order for each connection, interleaved between them.
    public var notifications: [Notification] { self.all }

    /// The devices that got more than one notification, with the numbers. O(notifications).
    public var duplicates: [DeviceToken: Int] {
        self.counts.filter { $0.value > 1 }
    }
}

extension MemoryRecorder: APNsRecorder where Accepted == AcceptedRequest {
    /// An accepted request with its bytes.
    public typealias Request = Push

    /// Everything that was accepted: in order for each connection, interleaved between them.
    public var requests: [Request] { self.all }

    /// The `apns-id` values that arrived more than once, with the numbers. O(requests).
    public var duplicates: [String: Int] {
        let counts = self.all.compactMap(\.accepted.apnsID).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        return counts.filter { $0.value > 1 }
    }
}
