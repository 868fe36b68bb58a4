internal import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import NIOCore

// The rules that act on the connection. Those for a single request are in `APNsMachine+Requests.swift`.
extension APNsMachine {
    /// Finds the rule that holds at the current number of accepted requests.
    mutating func checkCount(_ now: Moment, _ actions: inout [APNsAction]) {
        guard self.counts.accepted >= self.nextCount, self.state == .serving else { return }
        if let rule = self.rules.rule(at: self.nextCount) {
            if rule.concernsRequest {
                self.waitingRule = rule
            } else {
                self.begin(rule, now, &actions)
            }
        }
        self.nextCount = self.rules.nextCount(from: self.nextCount + 1) ?? .max
    }

    /// Finds the rule that holds at the current number of requests that were refused in a row.
    mutating func checkRefusals(_ now: Moment, _ actions: inout [APNsAction]) {
        guard self.isRefusalNew else { return }
        self.isRefusalNew = false
        guard self.state == .serving, let rule = self.rules.rule(afterRefusals: self.refusedInARow) else { return }
        self.begin(rule, now, &actions)
    }

    /// Applies a rule to the connection, after the rule's delay.
    mutating func begin(_ rule: HTTP2Rule, _ now: Moment, _ actions: inout [APNsAction]) {
        if let delay = rule.delay, delay > .zero {
            self.agenda.add(.perform(rule), at: now.monotonic + TimeAmount(delay))
        } else {
            self.perform(rule, now, &actions)
        }
    }

    mutating func perform(_ rule: HTTP2Rule, _ now: Moment, _ actions: inout [APNsAction]) {
        switch rule.action {
        case .goAway:
            self.goAway(rule)
        case .settings:
            self.isWarm = true
            self.session.update(maxConcurrentStreams: UInt32(clamping: rule.maxConcurrentStreams ?? 0))
        case .slowWindow:
            self.slowWindow = rule.windowBytes
            self.agenda.add(.openWindow, at: now.monotonic + TimeAmount(rule.hold))
        case .close:
            self.state = .ending
        case .reset:
            self.state = .closed
            actions.append(.reset)
        case .stopReading:
            self.state = .stalled
            actions.append(.stopReading)
        case .respond, .earlyAnswer, .refuseStream, .resetAfterHeaders, .loseAnswer, .silence:
            break
        }
    }

    private mutating func goAway(_ rule: HTTP2Rule) {
        let last: Int32? =
            switch rule.lastStream {
            case .none: 0
            case .current: rule.refused == nil ? self.lastAccepted : self.lastRefused
            case .all: nil
            }
        // A later GOAWAY must not name a higher stream than an earlier one (RFC 9113, section 6.8).
        self.lastStreamID = min(self.lastStreamID, last ?? self.session.lastReceivedStreamID)
        self.closesWhenDone = rule.closes
        self.counts.goAways += 1
        self.session.goAway(
            lastStreamID: self.lastStreamID,
            errorCode: rule.errorCode ?? HTTP2ErrorCode.noError.rawValue,
            debugData: rule.reason.map { APNsAnswer($0).body } ?? []
        )
    }

    /// Opens the connection's window, if the session does not open it itself.
    mutating func openWindow() {
        guard self.rules.hasSlowWindows else { return }
        let used = self.session.unopenedCount
        guard let piece = self.slowWindow else {
            // Like libnghttp2, open the window when half of it is used.
            if used >= Self.windowSize / 2 { self.session.openWindow(by: used) }
            return
        }
        if used >= Self.windowSize { self.session.openWindow(by: min(piece, used)) }
    }

    /// "The initial value for the flow-control window is 65,535 octets" (RFC 9113, section 6.9.2). Ferry's simulated
    /// APNs keeps this value for the connection.
    private static let windowSize = 65_535
}
