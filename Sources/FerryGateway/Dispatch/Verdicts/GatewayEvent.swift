package import FerryBinary
package import FerryCore

/// An event that the owner writes to the list of rejections or to the log. Each rejection comes once, even if an error
/// response tells it.
package enum GatewayEvent: Hashable, Sendable {
    /// A notification that was refused.
    case refused(Refusal)
    /// A device that lost the app, with APNs' time in UNIX seconds, or the gateway's time if APNs gave none.
    case gone(identity: Int, topic: String, token: [UInt8], since: UInt32)
    /// A notification that the gateway has given up and does not send again by itself. The notification was not
    /// delivered, or one of its attempts may have arrived.
    case deadLetter(Refusal)
    /// A notification that may have arrived, because its answer is missing. If `again`, it is sent once more, and may
    /// arrive twice. Otherwise it may be lost.
    case uncertain(Item, again: Bool)
    /// A notification whose expiration passed before it was delivered.
    case expired(Item)
    /// Notifications with this topic and credential wait. The reason is that of APNs. The reason is `badDeviceToken`
    /// if APNs refused many tokens and accepted none. The reason is nil if no connection works with these
    /// credentials.
    case alarm(upstream: Int, topic: String, Reason?)
    /// The alarm is over.
    case allClear(upstream: Int, topic: String)

    /// For ``Outage/patience``, the upstream has answered the notifications of several devices only with server
    /// errors (5xx). The reason is that of the last error. The notifications are sent again.
    case outage(upstream: Int, Reason)
    /// The outage of the upstream is over.
    case outageOver(upstream: Int)

    /// The store, or a segment in the store, cannot be used, for this reason. If the store cannot be written, the
    /// gateway still reads for up to ``GatewayBounds/Journal/outage``, and notifications wait.
    case storeTrouble(String)
    /// The store can be written again.
    case storeAllClear
    /// Another gateway has taken the store. This gateway delivers nothing more.
    case storeTaken
    /// Another gateway has the shared store. This gateway hands over the notifications that it has read, and delivers
    /// nothing more.
    case handingOver

    /// The file of the list of rejections cannot be written, for this reason. Its lines wait.
    case listTrouble(String)
    /// The file of the list of rejections can be written again.
    case listAllClear
    /// The lines that wait for the file of the list of rejections are more than `limit`, or too large together. The
    /// oldest lines are given up.
    case listFull(limit: Int)

    /// A client sent bytes that are not a notification. The bytes get no error response. If the last notification
    /// before these bytes was rejected, an error response may first tell that rejection. Then the connection ends.
    case violation(identity: Int, NotificationViolation)
    /// The gateway refused a client with this address. The text is a sentence with the reason.
    case stranger(address: String, String)
    /// A connection from this address carried no notification, because it only checked the gateway.
    case check(address: String, Check)

    package enum Check: Hashable, Sendable {
        /// `ferry doctor` tried the gateway.
        case doctor
        /// The connection ended without a byte, like a check by a monitor or a load balancer.
        case connection
    }

    /// A notification without a final answer of APNs.
    package struct Item: Hashable, Sendable {
        package var identity: Int
        package var token: [UInt8]
        package var topic: String
        package var apnsID: APNSID
    }

    /// A notification that was refused, or became a dead letter.
    package struct Refusal: Hashable, Sendable {
        package var identity: Int
        /// The device token; nil if the notification had none that could be read.
        package var token: [UInt8]?
        /// The reason of APNs or of the gateway itself.
        package var reason: Reason
        /// The status that an error response may tell; nil if no error response can tell this refusal to the client.
        package var status: BinaryStatus?
        package var apnsID: APNSID?
    }
}
