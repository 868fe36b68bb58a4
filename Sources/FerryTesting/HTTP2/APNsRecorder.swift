/// A recorder of the requests that a ``SimulatedAPNs`` accepts.
public protocol APNsRecorder: Sendable {
    /// Called for each accepted request on its connection's event loop, in order. Must not block for long. `token` and
    /// `payload` are valid only during the call.
    func accepted(_ request: AcceptedRequest, token: Span<UInt8>, payload: Span<UInt8>)

    /// Writes everything that is buffered. Called at least every 200 ms, and when the simulated APNs stops.
    func flush()
}

extension APNsRecorder {
    /// Does nothing.
    public func flush() {}
}

/// The fields of an accepted request, without its token and payload.
public struct AcceptedRequest: Hashable, Sendable {
    /// The number of the connection, from 1.
    public var connection: Int
    /// The position among all requests of that connection, from 1.
    public var place: Int
    /// `apns-id`, or `apns-request-id` of a broadcast, unchanged; nil if the request does not have the field.
    public var apnsID: String?
    /// `apns-topic`, or the bundle ID in the path of a broadcast; nil if the request does not have the field.
    public var topic: String?
    /// `apns-push-type`; nil if the request does not have the field.
    public var pushType: String?
    /// `apns-priority`; nil if the request does not have the field.
    public var priority: Int?
    /// `apns-expiration`, UNIX seconds; nil if the request does not have the field.
    public var expiration: Int64?
    /// `apns-collapse-id`; nil if the request does not have the field.
    public var collapseID: String?
    /// `apns-channel-id` of a broadcast, which has no token; nil for a notification to a device.
    public var channelID: String?
}

extension AcceptedRequest {
    init(_ request: borrowing APNsRequest, connection: Int, place: Int) {
        self.init(
            connection: connection,
            place: place,
            apnsID: request.text(.id) ?? request.text(.requestID),
            topic: request.text(.topic),
            pushType: request.text(.pushType),
            priority: request[.priority].flatMap { Int64(decimal: $0) }.flatMap { Int(exactly: $0) },
            expiration: request[.expiration].flatMap { Int64(decimal: $0) },
            collapseID: request.text(.collapseID),
            channelID: request.text(.channelID)
        )
    }
}
