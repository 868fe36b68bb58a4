/// The reaction of Ferry's gateway to a refusal by its upstream: what its old client is told, and what becomes of the
/// notification.
///
/// Old clients know nine statuses, and do different things on each. A status that makes one of them give up, or try for
/// ever, is never told for a fault that is not the client's. `Docs/commands/gateway.md` has the table for users.
package enum GatewayReaction: Hashable, Sendable {
    /// The client is told the row's ``ReasonRow/binaryStatus``.
    case told
    /// The same, if Ferry found the fault before it sent anything. An answer with the reason is ``unforeseen``, because
    /// APNs gives it for channels alone.
    case toldIfFoundHere
    /// The client's other topics are tried. If none is right, the client is told the row's status.
    case otherTopic
    /// The client is told nothing, as by Apple's gateway. The feedback list gets the token.
    case feedback
    /// The notification goes out again.
    case again
    /// The device gets too many: the notification goes out again, after a longer pause.
    case againForDevice
    /// The topic or the credentials are at fault, and so would be every notification: it waits.
    case blocked
    /// The request was at fault, which the gateway made: the notification is a dead letter.
    case deadLetter
    /// APNs never answers a notification so. The status decides, as for a reason that Ferry does not know.
    case unforeseen
}

extension Rejection {
    /// The status that a client of the binary protocol is told: by the gateway that refused the notification, or else
    /// by Ferry's gateway. 0: the client is told nothing.
    package var legacyStatus: UInt8 {
        if self.origin == .gateway || self.origin == .inferred { return UInt8(clamping: self.status ?? 0) }
        guard let row = self.reason.row else { return 0 }
        let isTold =
            switch row.gateway {
            case .told, .otherTopic: true
            case .toldIfFoundHere: self.origin == .ferry
            case .feedback, .again, .againForDevice, .blocked, .deadLetter, .unforeseen: false
            }
        return isTold ? row.binaryStatus.rawValue : 0
    }
}
