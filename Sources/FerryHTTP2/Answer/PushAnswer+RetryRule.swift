package import FerryCore

extension PushAnswer {
    /// The rule for sending the notification again; nil when APNs took it.
    package var retryRule: RetryRule? {
        guard !self.isAccepted else { return nil }
        return self.reason.flatMap(ReasonRule.of)?.retry ?? self.status.retryRule
    }

    /// Whether the server failed, and says nothing about the notification.
    package var isServerError: Bool { 500...599 ~= self.status.rawValue && self.retryRule == .later }

    /// Whether APNs counts the answer against the connection. APNs slows down such a connection and then closes it.
    package var countsAgainstConnection: Bool {
        guard !self.isAccepted else { return false }
        return self.reason.flatMap(ReasonRule.of)?.countsAgainstConnection ?? (self.status == .forbidden)
    }
}

extension HTTPStatus {
    /// The rule for an unknown reason. If Apple's reasons with this status agree on a rule, that rule applies;
    /// otherwise the rule of the status class. A status that is neither a failure nor 200 comes from another server
    /// than APNs, and a person must repair that.
    fileprivate var retryRule: RetryRule {
        switch self {
        case .gone, .payloadTooLarge: .never
        case .tooManyRequests: .forDevice
        default: 500...599 ~= self.rawValue ? .later : .afterRepair
        }
    }
}
