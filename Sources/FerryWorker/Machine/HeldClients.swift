package import FerryCore
package import NIOCore

/// The clients whose rows are left alone, because APNs refuses their credentials or topic, cannot be reached, or does
/// not answer. At most one row of each such client is sent each second: a trial. A machine without I/O.
package struct HeldClients {
    package enum Cause: Hashable, Sendable {
        /// The reason is nil if the handshake was refused.
        case refused(Reason?)
        case unreachable
        /// The client's rows in a batch got no answer. If APNs refuses the client or cannot be reached later, that
        /// cause replaces this one.
        case unanswered
    }

    /// The rows of a held client that a trial takes.
    package enum Trial: Hashable, Sendable {
        /// The row that was due last. The older ones may have expired, or may be of a topic that APNs refuses.
        case newest
        /// The row that has been due longest.
        case oldest
        /// A batch of the rows that have been due longest, of which at most one is sent. The trial before found only
        /// rows that need not be sent.
        case batch
    }

    package enum Change: Hashable, Sendable {
        case held(Cause)
        case released
    }

    /// The last report about a client.
    private enum Report {
        case held(Cause, at: NIODeadline)
        case released(Cause, heldAt: NIODeadline)
    }

    /// The time between two trials of a client. After a trial that found only rows that need not be sent, the time is
    /// ``trialPause``.
    package static let trialInterval: TimeAmount = .seconds(1)
    /// The shortest time between two trials, also of different clients. A trial can occupy a connection for this
    /// time.
    package static let trialPause = BatchMachine.trialLimit
    /// The shortest time between two reports that one client is held, because a client with a good and a bad topic is
    /// held and released all the time. If the client is still held after this time, the report follows. A report of a
    /// cause other than `unanswered` does not wait if the last report was of `unanswered`.
    package static let reportInterval: TimeAmount = .minutes(1)

    private var held: [Int: (cause: Cause, nextTrial: NIODeadline, trial: Trial)] = [:]
    private var nextTrial: NIODeadline = .distantPast
    private var reports: [Int: Report] = [:]

    package init() {}

    /// The held clients, in no order.
    package var clients: [Int] { Array(self.held.keys) }

    package func contains(_ client: Int) -> Bool { self.held[client] != nil }

    /// Notes what an outcome says about a client. Returns the change that is to be reported; nil without such a change.
    package mutating func note(_ sign: ClientSign, of client: Int, now: NIODeadline) -> Change? {
        switch sign {
        case .silent: return nil
        case .works:
            guard self.held.removeValue(forKey: client) != nil, case .held(let cause, let at) = self.reports[client]
            else { return nil }
            self.reports[client] = .released(cause, heldAt: at)
            return .released
        case .refused(let reason): return self.hold(client, .refused(reason), now: now)
        case .unreachable: return self.hold(client, .unreachable, now: now)
        case .unanswered: return self.hold(client, .unanswered, now: now)
        }
    }

    private mutating func hold(_ client: Int, _ cause: Cause, now: NIODeadline) -> Change? {
        var hold = self.held[client] ?? (cause, now + Self.trialInterval, .newest)
        // The cause of a report stays, because each request could bring another.
        let isReported = if case .held = self.reports[client] { true } else { false }
        if hold.cause == .unanswered || !isReported && cause != .unanswered { hold.cause = cause }
        self.held[client] = hold
        guard self.isNews(hold.cause, of: client, now: now) else { return nil }
        self.reports[client] = .held(hold.cause, at: now)
        return .held(hold.cause)
    }

    /// Whether to report that a client is held.
    private func isNews(_ cause: Cause, of client: Int, now: NIODeadline) -> Bool {
        switch self.reports[client] {
        case nil: true
        case .held(let last, _): last == .unanswered && cause != .unanswered
        case .released(let last, let heldAt):
            now - heldAt >= Self.reportInterval || last == .unanswered && cause != .unanswered
        }
    }

    /// Returns the client that is to be tried now, and sets the time of its next trial; nil if no trial is due.
    package mutating func trial(now: NIODeadline) -> (client: Int, rows: Trial)? {
        guard self.nextTrial <= now,
            let (client, hold) = self.held.min(by: { $0.value.nextTrial < $1.value.nextTrial }), hold.nextTrial <= now
        else { return nil }
        self.held[client]?.nextTrial = now + Self.trialInterval
        self.held[client]?.trial = hold.trial == .newest ? .oldest : .newest
        self.nextTrial = now + Self.trialPause
        return (client, hold.trial)
    }

    /// Gives back the turn of a client whose trial found only rows that need not be sent, such as expired ones. The next
    /// trial takes a batch. Otherwise the outcomes of expired rows would be written one by one.
    package mutating func giveBack(_ client: Int, now: NIODeadline) {
        self.held[client]?.nextTrial = now + Self.trialPause
        self.held[client]?.trial = .batch
    }
}
