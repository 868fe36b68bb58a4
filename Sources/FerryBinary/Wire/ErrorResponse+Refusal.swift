internal import FerryCore

extension ErrorResponse {
    /// The documented response to a faulty notification; nil if the protocol has none.
    ///
    /// "Failures of command 0 are always a plain close": the command has no identifier. If a notification of another
    /// command has no identifier, the response names 0.
    package init?(to refusal: NotificationRefusal) {
        guard refusal.command != .simple else { return nil }
        self.init(status: refusal.status, identifier: refusal.identifier ?? 0)
    }
}
