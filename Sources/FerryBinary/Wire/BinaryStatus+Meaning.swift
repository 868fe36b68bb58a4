package import FerryCore

extension BinaryStatus {
    /// Whether the notification that a response with this status names was itself accepted: a gateway that shuts down
    /// names the last one. The gateway has discarded the followers in either case, and `settle` of ``BinaryClient`` sends
    /// them again.
    package var namesAccepted: Bool { self == .noErrorsEncountered || self == .shutdown }
}
