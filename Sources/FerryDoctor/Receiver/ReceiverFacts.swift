internal import FerryHTTP1

/// The answers of a receiver of App Store Server Notifications, without judgement.
struct ReceiverFacts: Sendable {
    /// One request, on its own connection.
    struct Exchange: Sendable {
        /// The number of bytes of the body that was sent.
        var size = 0
        /// The time from the connection's start to the answer's last byte.
        var time: Duration
        var result: Result<HTTPClientResponse, HTTPClientError>

        var response: HTTPClientResponse? { try? self.result.get() }
    }

    var url: HTTPURL
    /// The limit of each exchange.
    var limit: Duration
    /// A GET without a body. It distinguishes a path that is closed to everybody from a receiver that refuses a forged
    /// notification.
    var get: Exchange
    /// A forged notification with the size of Apple's TEST.
    var small: Exchange
    /// A forged notification with the size of Apple's largest; nil if the small one got no answer.
    var large: Exchange?
    /// The `notificationUUID` of each sent notification, for a search in the receiver's log.
    var uuids: [String]
}
