internal import FerryCore

/// The reason why it is unknown how far the peer had read.
enum PositionUnknown {
    /// The peer refused a notification that it did not name.
    case culprit(BinaryStatus)
    /// The peer ended the connection for its own reasons, or the network did.
    case noCulprit
    /// The peer does not speak the protocol, so its silence means nothing.
    case violation
    /// The peer closed without a response, or with a meaningless one. The peer or a notification is the cause.
    case wordless
    /// The system does not report acknowledgements, so silence cannot settle anything.
    case unseen

    /// The meaning of an error response that names no notification.
    init(namelessStatus status: BinaryStatus) {
        switch status {
        case .shutdown: self = .noCulprit
        // These statuses point to trouble of the gateway itself. Blaming a notification for it would lose good ones.
        case .processingError, .unknown: self = .wordless
        default: self = .culprit(status)
        }
    }
}
