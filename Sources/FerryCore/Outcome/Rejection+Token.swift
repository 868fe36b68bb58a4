public import FerryPlatform

/// The rule for forgetting device tokens, for both protocols:
///
/// | refusal | the token is gone |
/// |---|---|
/// | HTTP status 410: Unregistered, ExpiredToken | unless the device registered after ``Rejection/timestamp`` |
/// | HTTP status 400: BadDeviceToken | if another acceptance was confirmed |
/// | binary status 8 (invalid token) and 5 (invalid token size) | if another acceptance was confirmed |
/// | every other refusal, and those by Ferry | no |
///
/// With credentials of the wrong environment every token looks bad. A program that believed it would forget all its
/// devices. Presumed acceptances prove nothing here, because a gateway that refuses late was silent before.
extension Rejection {
    /// Whether the program should forget the device token.
    ///
    /// - Parameters:
    ///   - confirmed: how many acceptances with the same credentials were confirmed: ``OutcomeCounts/confirmed`` of the
    ///     provider's counts, or of the report at the end of a run.
    ///   - registration: when the device last registered; nil if unknown.
    public func tokenIsGone(confirmed: Int, registered registration: Date? = nil) -> Bool {
        guard self.origin == .apns || self.origin == .gateway else { return false }
        guard self.reason.isOfGoneDevice else {
            return confirmed > 0 && (self.reason == .badDeviceToken || self.reason == .invalidTokenSize)
        }
        guard let timestamp, let registration else { return true }
        return registration <= timestamp
    }
}

extension Outcome {
    /// Whether the program should forget the device token: see ``Rejection/tokenIsGone(confirmed:registered:)``.
    public func tokenIsGone(confirmed: Int, registered registration: Date? = nil) -> Bool {
        guard case .rejected(let rejection) = self else { return false }
        return rejection.tokenIsGone(confirmed: confirmed, registered: registration)
    }
}
