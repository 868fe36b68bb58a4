internal import FerryCore

extension ErrorResponse {
    /// The documented answer to a notification that is faulty; nil where the protocol has none.
    ///
    /// "Failures of command 0 are always a plain close": it has no identifier to name. A notification of the other
    /// commands that said none is named 0.
    package init?(to refusal: NotificationRefusal) {
        guard refusal.command != .simple else { return nil }
        self.init(status: refusal.status, identifier: refusal.identifier ?? 0)
    }
}
