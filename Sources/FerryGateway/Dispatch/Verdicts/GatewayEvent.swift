package import FerryBinary
package import FerryCore

/// What an owner of the gateway has to write down. Each rejection comes once, whether or not an error response tells it.
package enum GatewayEvent: Hashable, Sendable {
    /// An entry of the list of rejections.
    case refused(Refusal)
    /// An entry of the feedback list, with APNs' time in UNIX seconds.
    case gone(identity: Int, topic: String, token: [UInt8], since: UInt32)
    /// A notification that was not delivered and will not be sent again.
    case deadLetter(Refusal)
    /// A notification that may have arrived: the connection to APNs was lost before the answer, or there was none. If
    /// `again`, it goes out once more, and may arrive twice; otherwise it may be missing.
    case uncertain(Item, again: Bool)
    /// A notification whose expiration passed before it was delivered.
    case expired(Item)
    /// Notifications with this topic and credential wait. The reason that APNs gave, or badDeviceToken if it accepted
    /// none of many; nil: there is no connection with these credentials.
    case alarm(upstream: Int, topic: String, Reason?)
    /// The alarm is over.
    case allClear(upstream: Int, topic: String)

    /// The upstream answers each notification with this server's fault, and has for ``Outage/patience``. They go out again.
    case outage(upstream: Int, Reason)
    /// The upstream takes notifications again.
    case outageOver(upstream: Int)

    /// The store cannot be written: notifications are read for a while, and wait. The reason as a sentence.
    case storeTrouble(String)
    /// The store is written again.
    case storeAllClear
    /// Another gateway has the store. This one delivers nothing more.
    case storeTaken

    /// The file of the list of rejections cannot be written: its lines wait. The reason in words.
    case listTrouble(String)
    /// The file of the list of rejections is written again.
    case listAllClear
    /// `limit` lines wait for the file of the list of rejections: the oldest are given up.
    case listFull(limit: Int)

    /// A client sent what is no notification, and its connection ends without a word.
    case violation(identity: Int, NotificationViolation)
    /// A client was refused in the handshake: its address, and the reason as a sentence.
    case stranger(address: String, String)
    /// A connection that carried no notification, once for each address: its address, and its purpose.
    case check(address: String, Check)

    package enum Check: Hashable, Sendable {
        /// `ferry doctor` tried the gateway.
        case doctor
        /// It ended without a byte, as a monitor or a load balancer ends its checks.
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
        /// Nil: the notification had no token that could be read.
        package var token: [UInt8]?
        /// The reason of APNs, or the gateway's own.
        package var reason: Reason
        /// The status that the client gets, if it is told; nil: it counts the notification as accepted.
        package var status: BinaryStatus?
        package var apnsID: APNSID?
    }
}
