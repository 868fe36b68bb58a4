/// Takes what a ``SimulatedAPNs`` accepts.
public protocol APNsRecorder: Sendable {
    /// Called for each accepted request on its connection's event loop, in order; it must not block for long.
    /// `token` and `payload` are valid only during the call.
    func accepted(_ request: AcceptedRequest, token: Span<UInt8>, payload: Span<UInt8>)

    /// Called at least every 200 ms and when the simulated APNs stops: what is buffered shall get out.
    func flush()
}

extension APNsRecorder {
    /// Does nothing.
    public func flush() {}
}

/// What a request that was accepted said, except for its token and payload.
public struct AcceptedRequest: Hashable, Sendable {
    /// The number of its connection, from 1.
    public var connection: Int
    /// Its place among all requests of that connection, from 1.
    public var place: Int
    /// `apns-id` as it came; nil where it said none.
    public var apnsID: String?
    /// `apns-topic`; nil where it said none.
    public var topic: String?
    /// `apns-push-type`; nil where it said none.
    public var pushType: String?
    /// `apns-priority`; nil where it said none.
    public var priority: Int?
    /// `apns-expiration`, UNIX seconds; nil where it said none.
    public var expiration: Int64?
    /// `apns-collapse-id`; nil where it said none.
    public var collapseID: String?
}

extension AcceptedRequest {
    init(_ request: borrowing APNsRequest, connection: Int, place: Int) {
        self.init(
            connection: connection,
            place: place,
            apnsID: request.text(.id),
            topic: request.text(.topic),
            pushType: request.text(.pushType),
            priority: request[.priority].flatMap { Int64(decimal: $0) }.flatMap { Int(exactly: $0) },
            expiration: request[.expiration].flatMap { Int64(decimal: $0) },
            collapseID: request.text(.collapseID)
        )
    }
}
