/// The reaction of Ferry's gateway to a refusal by its upstream: the status for its old client, and the fate of the
/// notification.
///
/// Old clients know nine statuses, and react differently to each. A status that makes one of them give up or try for
/// ever is never told for a fault that is not the client's. `Docs/commands/gateway.md` has the table for users.
package enum GatewayReaction: Hashable, Sendable {
    /// The client is told the row's ``ReasonRow/binaryStatus``.
    case told
    /// The client is told the same if Ferry found the fault before it sent anything. An answer with the reason is
    /// ``unforeseen``, because APNs gives it for channels only.
    case toldIfFoundHere
    /// The client's other topics are tried. If none is right, the client is told the row's status.
    case otherTopic
    /// The client is told nothing, as by Apple's gateway. The feedback list gets the token.
    case feedback
    /// The notification is sent again.
    case again
    /// The device gets too many notifications. This one is sent again after a longer pause.
    case againForDevice
    /// The topic or the credentials are at fault, so every notification would be refused. This one waits.
    case blocked
    /// The gateway made a wrong request, so the notification is a dead letter.
    case deadLetter
    /// APNs never gives this answer to a notification. The status decides, as for a reason that Ferry does not know.
    case unforeseen
}

extension Rejection {
    /// The status that a client of the binary protocol is told, by the gateway that refused the notification or by
    /// Ferry's gateway; 0 if the client is told nothing.
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
