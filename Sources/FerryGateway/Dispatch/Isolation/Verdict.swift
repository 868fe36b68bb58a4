internal import FerryCore

/// The effect of an outcome on the connection that all clients share.
///
/// APNs closes a connection on which it refuses many tokens. If APNs answers only with server errors, the provider
/// pauses. So refused tokens and server errors are counted for each flow.
enum Verdict: Hashable, Sendable {
    /// APNs accepted the notification, or said that the device has lost the app.
    case taken
    /// APNs refused the token. Many such refusals make APNs close the connection.
    case countable
    /// APNs failed: a server error (5xx).
    case failed
    /// The answer says nothing about the token, or there was no answer.
    case other

    init(of outcome: Outcome) {
        switch outcome {
        case .accepted: self = .taken
        case .rejected(let rejection) where rejection.origin == .apns:
            self =
                if rejection.status ?? 0 >= 500 {
                    .failed
                } else if rejection.reason.isOfGoneDevice {
                    .taken
                } else {
                    rejection.reason.row?.refusesToken == true ? .countable : .other
                }
        default: self = .other
        }
    }
}
