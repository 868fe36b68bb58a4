public import FerryCore
internal import Synchronization

/// Remembers what a ``SimulatedAPNs`` accepted, for tests to look at. Safe from any thread.
public final class APNsMemoryRecorder: APNsRecorder {
    /// An accepted request with its bytes.
    public struct Request: Hashable, Sendable {
        /// What it said beside token and payload.
        public var accepted: AcceptedRequest
        /// To whom.
        public var token: DeviceToken
        /// As it came.
        public var payload: [UInt8]
    }

    private let storage = Mutex<[Request]>([])

    /// A recorder that remembers nothing yet.
    public init() {}

    /// Copies the request. Memory grows by its bytes.
    public func accepted(_ request: AcceptedRequest, token: Span<UInt8>, payload: Span<UInt8>) {
        let device = DeviceToken(unchecked: token.withUnsafeBufferPointer(Array.init))
        let copy = Request(accepted: request, token: device, payload: payload.withUnsafeBufferPointer(Array.init))
        self.storage.withLock { $0.append(copy) }
    }

    /// Everything that was accepted: in order for each connection, interleaved between them.
    public var requests: [Request] {
        self.storage.withLock { $0 }
    }

    /// How many requests each device got.
    public var counts: [DeviceToken: Int] {
        self.requests.reduce(into: [:]) { $0[$1.token, default: 0] += 1 }
    }

    /// The apns-ids that came more than once, and how often. O(requests).
    public var duplicates: [String: Int] {
        let counts = self.requests.compactMap(\.accepted.apnsID).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        return counts.filter { $0.value > 1 }
    }

    /// Forgets everything.
    public func removeAll() {
        self.storage.withLock { $0 = [] }
    }
}
