public import FerryCore
internal import FerryHTTP2
internal import FerryOpenSSL
internal import FerryPlatform

/// Creates, reads, deletes and lists an app's broadcast channels.
///
/// ```swift
/// let manager = try ChannelManager(
///     ChannelManagerConfiguration(production: true, bundleID: "com.example.app", credentials: .token(tokens))
/// )
/// let channel = try await manager.create(.mostRecentMessageStored)
/// try store(channel)
/// await manager.shutDown()
/// ```
///
/// It runs on one event loop of the configured group, connects when there is a call, and keeps the connection for 30 s
/// after the last one. All methods may be called from any thread, also at the same time. Each throws
/// ``ChannelManagerError``, at the latest after the deadline. A cancelled task gets its error at once.
///
/// * A creation is written once. If APNs does not answer it, a channel may have been made: the error says so with
///   ``ChannelManagerError/mayHaveTakenEffect``, and ``list(requestID:)`` has the channel.
/// * Other requests are written once more if APNs says that it did not process them. No request is repeated after an
///   unknown end.
/// * If APNs says that the provider token has expired, the request is written once more with a new token.
///
/// Shut a manager down with ``shutDown()``. If the last reference is dropped instead, its connection is closed.
public final class ChannelManager: Sendable {
    private let driver: ChannelDriver

    /// Makes a manager. It connects when there is a call.
    ///
    /// Reads the trust roots, which may be a file.
    ///
    /// - Throws: ``TLSError`` when the certificate has expired or is not valid yet, when OpenSSL refuses the
    ///   credentials, or when the trust roots cannot be read; ``ConfigurationError`` when the bundle ID is malformed,
    ///   when the host is Apple's and not for channels or not for the certificate's environment, when the port is not 1
    ///   to 65,535, or when the proxy is invalid.
    public init(_ configuration: ChannelManagerConfiguration) throws {
        try AppleHost.require(configuration.host, for: .channels)
        guard ChannelRequestFields.isBundleID(configuration.bundleID) else {
            throw ConfigurationError(
                .malformedBundleID,
                "The bundle ID is not 1 to \(ChannelRequestFields.maximumBundleIDLength) letters, digits, hyphens, "
                    + "underscores and dots, without a dot at its start."
            )
        }
        let connections = configuration.connections
        try AppleHost.require(configuration.host, for: connections.identity)
        try connections.identity?.validate(at: .now)
        self.driver = ChannelDriver(configuration, connector: try ProviderConnector(connections))
    }

    deinit { self.driver.abandon() }

    /// Creates a channel, and returns its identifier. APNs gives it only now, and in a list.
    ///
    /// - Parameters:
    ///   - policy: whether APNs keeps messages. It cannot be changed later.
    ///   - requestID: `apns-request-id`, for questions to Apple. Nil: Ferry makes one.
    public func create(
        _ policy: MessageStoragePolicy,
        requestID: APNSID? = nil
    ) async throws(ChannelManagerError) -> ChannelID {
        guard case .created(let id) = try await self.driver.call(.create(policy), requestID) else {
            throw ChannelDriver.wrongResult
        }
        return id
    }

    /// Reads a channel.
    ///
    /// - Parameters:
    ///   - id: a channel of the app, in this environment.
    ///   - requestID: `apns-request-id`, for questions to Apple. Nil: Ferry makes one.
    public func read(
        _ id: ChannelID,
        requestID: APNSID? = nil
    ) async throws(ChannelManagerError) -> BroadcastChannel {
        guard case .read(let channel) = try await self.driver.call(.read(id), requestID) else {
            throw ChannelDriver.wrongResult
        }
        return channel
    }

    /// Deletes a channel for good. Messages that APNs has stored may still arrive.
    ///
    /// ``Reason/channelNotRegistered`` is an error here, even after an earlier deletion without an answer: Ferry cannot know
    /// whether that deletion removed the channel, or the channel never was the app's. In both cases it does not exist now.
    ///
    /// - Parameters:
    ///   - id: a channel of the app, in this environment.
    ///   - requestID: `apns-request-id`, for questions to Apple. Nil: Ferry makes one.
    public func delete(_ id: ChannelID, requestID: APNSID? = nil) async throws(ChannelManagerError) {
        _ = try await self.driver.call(.delete(id), requestID)
    }

    /// Lists all channels of the app in this environment, in the order of APNs.
    ///
    /// The list is complete or an error: it is never cut.
    ///
    /// Cost: memory for the whole list, up to `listLimit` bytes.
    ///
    /// - Parameter requestID: `apns-request-id`, for questions to Apple. Nil: Ferry makes one.
    public func list(requestID: APNSID? = nil) async throws(ChannelManagerError) -> [ChannelID] {
        guard case .listed(let ids) = try await self.driver.call(.list, requestID) else {
            throw ChannelDriver.wrongResult
        }
        return ids
    }

    /// Takes no more calls, waits for the answers to requests that were written, and closes the connection.
    ///
    /// Calls that were not written fail with ``ChannelManagerError/Code/shutDown``. Returns at the latest a few seconds
    /// after the deadline of the last call.
    public func shutDown() async { await self.driver.shutDown() }
}
