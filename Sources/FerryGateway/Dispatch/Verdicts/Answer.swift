package import FerryCore
internal import FerryPlatform

/// The gateway's reaction to an outcome of its upstream.
///
/// Old clients react differently to each status code. Some codes make a client give up, or try for ever. The gateway
/// sends such a code only for a fault of the client itself.
package enum Answer: Hashable, Sendable {
    /// The client gets no response, so it counts the notification as accepted.
    case accepted
    /// The client counts the notification as accepted, as with Apple's gateway. The feedback list gets the token,
    /// with APNs' time in UNIX seconds; nil if APNs gave no time.
    case gone(since: UInt32?)
    /// An error response may name the notification.
    case refused(BinaryStatus)
    /// The token does not fit the topic. The next topic of the identity is tried. After the last topic, the
    /// notification is refused with status 8.
    case tryOtherTopic
    /// The notification is sent again after a back-off, with the same `apns-id`.
    case retry(Retry)
    /// The topic or the credentials are at fault, so every other notification with them would fail, too. The
    /// notification is held, and there is an alarm.
    case blocked
    /// The gateway made a wrong request, so the notification becomes a dead letter.
    case deadLetter
    /// The notification expired before it was sent.
    case expired
    /// The notification may have arrived. The configuration decides whether it is sent again.
    case unknown

    /// The kind of the back-off.
    package enum Retry: Hashable, Sendable {
        /// The usual back-off.
        case later
        /// The device gets too many notifications. This notification waits longer, and no other notification waits
        /// for this one.
        case deviceIsBusy
    }

    package init(to outcome: Outcome) {
        switch outcome {
        case .accepted: self = .accepted
        case .rejected(let rejection): self.init(to: rejection)
        case .expired: self = .expired
        case .undelivered(.credentials): self = .blocked
        case .undelivered: self = .retry(.later)
        case .uncertain: self = .unknown
        @unknown default: self = .unknown
        }
    }

    private init(to rejection: Rejection) {
        guard let row = rejection.reason.row else {
            self.init(unforeseen: rejection)
            return
        }
        switch row.gateway {
        case .told: self = .refused(row.binaryStatus)
        case .toldIfFoundHere where rejection.origin == .ferry: self = .refused(row.binaryStatus)
        case .otherTopic: self = .tryOtherTopic
        case .feedback:
            self = .gone(since: rejection.timestamp.map { UInt32(clamping: Int64($0.timeIntervalSince1970)) })
        case .again: self = .retry(.later)
        case .againForDevice: self = .retry(.deviceIsBusy)
        case .blocked: self = .blocked
        case .deadLetter: self = .deadLetter
        case .toldIfFoundHere, .unforeseen: self.init(unforeseen: rejection)
        }
    }

    /// After a server error (5xx, or no status), the notification is sent again, because such an error passes. After
    /// any other status, the notification becomes a dead letter, because APNs would refuse the same request again.
    private init(unforeseen rejection: Rejection) {
        self = rejection.status ?? 500 >= 500 ? .retry(.later) : .deadLetter
    }
}
