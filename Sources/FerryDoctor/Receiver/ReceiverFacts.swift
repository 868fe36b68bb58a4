internal import FerryHTTP1

/// What a receiver of App Store Server Notifications answered, without judgement.
struct ReceiverFacts: Sendable {
    /// One request on a connection of its own.
    struct Exchange: Sendable {
        /// The bytes of the body that was sent.
        var size = 0
        /// From the connection's start to the answer's last byte.
        var time: Duration
        var result: Result<HTTPClientResponse, HTTPClientError>

        var response: HTTPClientResponse? { try? self.result.get() }
    }

    var url: HTTPURL
    /// The limit of each exchange.
    var limit: Duration
    /// Without a body. Tells a path that is closed to everybody from a receiver that refuses a forged notification.
    var get: Exchange
    /// A forged notification of the size of Apple's TEST.
    var small: Exchange
    /// A forged notification of the size of Apple's largest. Nil: the small one was not answered.
    var large: Exchange?
    /// `notificationUUID` of those that were sent, for a search in the receiver's log.
    var uuids: [String]
}
