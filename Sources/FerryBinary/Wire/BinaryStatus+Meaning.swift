package import FerryCore

extension BinaryStatus {
    /// Whether the notification that a response with this status names was itself accepted; ``BinaryStatus/shutdown``
    /// says why. ``BinaryClient`` then sends the followers again, in `settle`.
    package var namesAccepted: Bool { self == .noErrorsEncountered || self == .shutdown }
}
