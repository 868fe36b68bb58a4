internal import FerryCore

/// Why nothing says how far the peer had read.
enum PositionUnknown {
    /// The peer refused a notification that it did not name.
    case culprit(BinaryStatus)
    /// The peer ended the connection for reasons of its own, or the network did.
    case noCulprit
    /// The peer does not speak the protocol, so that its silence says nothing.
    case violation
    /// The peer closed without a word, or with one that means nothing: for reasons of its own, or because of a
    /// notification.
    case wordless
    /// The system does not show acknowledgements, so that silence cannot settle anything.
    case unseen

    /// What an error response means that names no notification.
    init(namelessStatus status: BinaryStatus) {
        switch status {
        case .shutdown: self = .noCulprit
        // The gateway's own trouble, as far as anyone can tell: to blame a notification for it would lose good ones.
        case .processingError, .unknown: self = .wordless
        default: self = .culprit(status)
        }
    }
}
