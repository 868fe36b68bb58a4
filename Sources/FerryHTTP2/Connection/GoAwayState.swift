internal import FerryCore

/// The effect of one peer's GOAWAYs on the client: whether the user hears of it, and whether the next connection waits.
///
/// ```
///              ENHANCE_YOUR_CALM
///   patient ──────────────────────▶ askedForCalm
/// ```
///
/// ``RequestStreams`` returns the requests that a GOAWAY excludes as refused, and ``HTTP2Client`` sends them again
/// (`read`).
struct GoAwayState {
    private enum State {
        case patient
        /// The peer has asked the client to send less.
        case askedForCalm
    }

    private var state = State.patient

    enum Action {
        /// An ordinary end.
        case nothing
        /// Report it to the user.
        case report
        /// Report it to the user, and wait before the next connection.
        case reportAndWait
    }

    /// Notes a GOAWAY. If several ask for calm, the next connection still waits only once.
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
