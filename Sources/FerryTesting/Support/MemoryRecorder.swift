public import FerryCore
internal import Synchronization

/// Remembers what a ``SimulatedGateway`` accepted, for tests to look at.
public typealias GatewayMemoryRecorder = MemoryRecorder<AcceptedNotification>

/// Remembers what a ``SimulatedAPNs`` accepted, for tests to look at.
public typealias APNsMemoryRecorder = MemoryRecorder<AcceptedRequest>

/// Remembers what a simulated service accepted, for tests to look at. Safe from any thread.
///
/// Memory grows by the bytes of everything that is accepted, until ``removeAll()``.
public final class MemoryRecorder<Accepted: Hashable & Sendable>: Sendable {
    /// What was accepted, with its bytes.
    public struct Push: Hashable, Sendable {
        /// What it said beside token and payload.
        public var accepted: Accepted
        /// To whom.
        public var token: DeviceToken
        /// As it came.
        public var payload: [UInt8]
    }

    private let storage = Mutex<[Push]>([])

    /// A recorder that remembers nothing yet.
    public init() {}

    /// Copies what was accepted.
    public func accepted(_ accepted: Accepted, token: Span<UInt8>, payload: Span<UInt8>) {
        let device = DeviceToken(unchecked: token.withUnsafeBufferPointer(Array.init))
        let copy = Push(accepted: accepted, token: device, payload: payload.withUnsafeBufferPointer(Array.init))
        self.storage.withLock { $0.append(copy) }
    }

    /// Everything that was accepted: in order for each connection, interleaved between them.
    fileprivate var all: [Push] { self.storage.withLock { $0 } }

    /// How many each device got. O(everything).
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

    /// The devices that got more than one notification, and how many. O(notifications).
    public var duplicates: [DeviceToken: Int] {
        self.counts.filter { $0.value > 1 }
    }
}

extension MemoryRecorder: APNsRecorder where Accepted == AcceptedRequest {
    /// An accepted request with its bytes.
    public typealias Request = Push

    /// Everything that was accepted: in order for each connection, interleaved between them.
    public var requests: [Request] { self.all }

    /// The apns-ids that came more than once, and how often. O(requests).
    public var duplicates: [String: Int] {
        let counts = self.all.compactMap(\.accepted.apnsID).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        return counts.filter { $0.value > 1 }
    }
}
