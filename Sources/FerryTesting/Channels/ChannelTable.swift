internal import FerryCore
internal import FerryPlatform

/// The channels of a simulated APNs, by app. All its connections share them. Safe from any thread.
package final class ChannelTable: Sendable {
    /// "10,000 channels for each app and environment" ("Setting up broadcast push notifications", Apple).
    package static let limit = 10_000
    /// The number of apps that may have channels.
    private static let appLimit = 1000

    private struct Channel {
        /// The number of the channel, in the order of creation.
        var number: UInt64
        var policy: MessageStoragePolicy
    }

    private struct State {
        var apps: [String: [ChannelID: Channel]] = [:]
        var last: UInt64 = 0
    }

    private let state = Locked(State())

    package init() {}

    /// Whether an app has as many channels as it may have.
    func isFull(_ bundleID: String) -> Bool {
        self.state.withLock { Self.isFull(bundleID, $0) }
    }

    private static func isFull(_ bundleID: String, _ state: State) -> Bool {
        guard let channels = state.apps[bundleID] else { return state.apps.count >= self.appLimit }
        return channels.count >= self.limit
    }

    /// Makes a channel. Returns nil if the app has as many as it may have.
    func create(_ policy: MessageStoragePolicy, of bundleID: String) -> ChannelID? {
        var generator = SystemRandomNumberGenerator()
        // 24 characters, as in Apple's examples.
        let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        guard let id = ChannelID(rawValue: Data(bytes).base64EncodedString()) else { return nil }
        return self.state.withLock { state in
            guard !Self.isFull(bundleID, state) else { return nil }
            state.last += 1
            state.apps[bundleID, default: [:]][id] = Channel(number: state.last, policy: policy)
            return id
        }
    }

    /// Returns the policy of a channel; nil if the app has no such channel.
    func policy(of id: ChannelID, of bundleID: String) -> MessageStoragePolicy? {
        self.state.withLock { $0.apps[bundleID]?[id]?.policy }
    }

    /// Deletes a channel. Returns false if the app has no such channel.
    func delete(_ id: ChannelID, of bundleID: String) -> Bool {
        self.state.withLock { $0.apps[bundleID]?.removeValue(forKey: id) != nil }
    }

    /// Returns the channels of an app, in the order of creation.
    func list(_ bundleID: String) -> [ChannelID] {
        let channels = self.state.withLock { $0.apps[bundleID] ?? [:] }
        return channels.sorted { $0.value.number < $1.value.number }.map(\.key)
    }
}
