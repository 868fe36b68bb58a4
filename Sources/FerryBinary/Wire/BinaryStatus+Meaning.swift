package import FerryCore

extension BinaryStatus {
    /// Whether the notification that a response with this status names was itself accepted.
    package var namesAccepted: Bool { self == .noErrorsEncountered || self == .shutdown }
}
