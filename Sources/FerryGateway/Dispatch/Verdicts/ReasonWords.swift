package import FerryCore

/// The sentences about a refusal, for the log and for the status.
package enum ReasonWords {
    /// The longest reason in a sentence, in bytes. APNs chooses the reason, so it may have any length.
    private static let limit = 100

    /// The reason as a word: cut, and with its control characters escaped.
    package static func name(_ reason: Reason) -> String {
        String(reason.rawValue.beginning(utf8: Self.limit)).printable
    }

    /// The reason with its explanation.
    package static func sentence(_ reason: Reason) -> String {
        guard reason != .unknown else { return "there was no answer." }
        return "\(self.name(reason)).\(reason.explanation.map { " \($0)" } ?? "")"
    }

    /// The sentence about notifications that wait at a shut gate.
    ///
    /// - Parameter reason: nil if no connection works with the credentials.
    package static func shut(_ topic: String, at upstream: String, for reason: Reason?) -> String {
        guard let reason else {
            return "\(upstream) cannot be used with its credentials, so \(topic) is not delivered."
        }
        guard reason != .badDeviceToken else {
            return
                "\(upstream) has refused many device tokens for \(topic) and accepted none: production and development may "
                + "be mixed up."
        }
        return "\(upstream) refuses \(topic): \(self.sentence(reason))"
    }
}
