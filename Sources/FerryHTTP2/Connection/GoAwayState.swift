internal import FerryCore

/// What the GOAWAYs of one peer ask of the client.
///
/// ```
///              ENHANCE_YOUR_CALM
///   patient ──────────────────────▶ askedForCalm
/// ```
///
/// The requests that a GOAWAY excludes come back from the session as refused.
struct GoAwayState {
    private enum State {
        case patient
        /// The peer had enough of this client, and has said so.
        case askedForCalm
    }

    private var state = State.patient

    enum Action {
        /// It is an ordinary end.
        case nothing
        /// Tell the user.
        case report
        /// Tell the user, and wait before the next connection.
        case reportAndWait
    }

    /// A GOAWAY came. However often it asks for calm, the next connection waits once.
    mutating func came(_ goAway: GoAway) -> Action {
        guard goAway.errorCode != .noError || goAway.reason != nil else { return .nothing }
        switch self.state {
        case .patient where goAway.errorCode == .enhanceYourCalm:
            self.state = .askedForCalm
            return .reportAndWait
        case .patient, .askedForCalm:
            return .report
        }
    }
}
