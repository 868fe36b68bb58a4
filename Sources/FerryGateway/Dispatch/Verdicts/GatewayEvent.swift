package import FerryBinary
package import FerryCore

/// An event that the owner writes to the list of rejections or to the log. Each rejection comes once, also if an error
/// response tells it.
package enum GatewayEvent: Hashable, Sendable {
    /// An entry of the list of rejections.
    case refused(Refusal)
    /// An entry of the feedback list, with APNs' time in UNIX seconds.
    case gone(identity: Int, topic: String, token: [UInt8], since: UInt32)
    /// A notification that was not delivered and will not be sent again.
    case deadLetter(Refusal)
    /// A notification that may have arrived, because its answer is missing. If `again`, it is sent once more, and may
    /// arrive twice. Otherwise it may be lost.
    case uncertain(Item, again: Bool)
    /// A notification whose expiration passed before it was delivered.
    case expired(Item)
    /// Notifications with this topic and credential wait. The reason is APNs', or `badDeviceToken` if APNs accepted
    /// none of many tokens; nil if no connection works with these credentials.
    case alarm(upstream: Int, topic: String, Reason?)
    /// The alarm is over.
    case allClear(upstream: Int, topic: String)

    /// The upstream has answered notifications of several devices only with a server's fault, for ``Outage/patience``;
    /// this is the last one. Notifications are sent again.
    case outage(upstream: Int, Reason)
    /// The outage of the upstream is over.
    case outageOver(upstream: Int)

    /// The store cannot be written, for this reason. The gateway still reads for a while, and notifications wait.
    case storeTrouble(String)
    /// The store can be written again.
    case storeAllClear
    /// Another gateway has taken the store. This one delivers nothing more.
    case storeTaken
    /// Another gateway has the shared store. This one hands over what it has read, and delivers nothing more.
    case handingOver

    /// The file of the list of rejections cannot be written, for the reason in this text. Its lines wait.
    case listTrouble(String)
    /// The file of the list of rejections can be written again.
    case listAllClear
    /// `limit` lines wait for the file of the list of rejections. The oldest are given up.
    case listFull(limit: Int)

    /// A client sent bytes that are not a notification. The bytes get no error response. If the last notification
    /// before them was rejected, an error response may tell that first. Then the connection ends.
    case violation(identity: Int, NotificationViolation)
    /// A client with this address was refused in the handshake, for the reason in this sentence.
    case stranger(address: String, String)
    /// A connection from this address carried no notification, because it only checked the gateway.
    case check(address: String, Check)

    package enum Check: Hashable, Sendable {
        /// `ferry doctor` tried the gateway.
        case doctor
        /// The connection ended without a byte, as the checks of monitors and load balancers do.
        case connection
    }

    /// A notification that APNs has neither accepted nor refused.
    package struct Item: Hashable, Sendable {
        package var identity: Int
        package var token: [UInt8]
        package var topic: String
        package var apnsID: APNSID
    }

    /// A notification that was refused.
    package struct Refusal: Hashable, Sendable {
        package var identity: Int
        /// The device token; nil if the notification had none that could be read.
        package var token: [UInt8]?
        /// The reason of APNs or of the gateway itself.
        package var reason: Reason
        /// The status that an error response tells; nil if the client counts the notification as accepted.
        package var status: BinaryStatus?
        package var apnsID: APNSID?
    }
}
