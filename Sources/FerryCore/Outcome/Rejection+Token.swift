#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The rule for forgetting device tokens, for both protocols:
///
/// | refusal | the token is gone |
/// |---|---|
/// | HTTP status 410: Unregistered, ExpiredToken | unless the device registered after ``Rejection/timestamp`` |
/// | HTTP status 400: BadDeviceToken | if others were accepted |
/// | binary status 8 (invalid token) and 5 (invalid token size) | if others were accepted |
/// | every other refusal, and those by Ferry | no |
///
/// With credentials of the wrong environment every token is a bad one. A program that believed it would forget all its
/// devices.
extension Rejection {
    /// Whether the program should forget the device token.
    ///
    /// - Parameters:
    ///   - accepted: how many notifications were accepted with the same credentials: ``OutcomeCounts/accepted`` of the
    ///     provider's counts, or of the report at the end of a run.
    ///   - registration: when the device last registered; nil if unknown.
    public func tokenIsGone(accepted: Int, registered registration: Date? = nil) -> Bool {
        guard self.origin == .apns || self.origin == .gateway else { return false }
        switch self.reason {
        case .unregistered, .expiredToken:
            guard let timestamp, let registration else { return true }
            return registration <= timestamp
        case .badDeviceToken, .invalidTokenSize:
            return accepted > 0
        default:
            return false
        }
    }
}

extension Outcome {
    /// Whether the program should forget the device token: see ``Rejection/tokenIsGone(accepted:registered:)``.
    public func tokenIsGone(accepted: Int, registered registration: Date? = nil) -> Bool {
        guard case .rejected(let rejection) = self else { return false }
        return rejection.tokenIsGone(accepted: accepted, registered: registration)
    }
}
