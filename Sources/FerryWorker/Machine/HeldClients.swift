package import FerryCore
package import NIOCore

/// The clients whose rows are left alone, because APNs refuses their credentials or topic, cannot be reached, or does
/// not answer. One row of each such client is tried each second: a trial. A machine without I/O.
package struct HeldClients {
    package enum Cause: Hashable, Sendable {
        /// The reason is nil if the handshake was refused.
        case refused(Reason?)
        case unreachable
        /// The rows of a batch got no answer. If APNs refuses the client or cannot be reached later, that cause
        /// replaces this one.
        case unanswered
    }

    /// The rows of a held client that a trial takes.
    package enum Trial: Hashable, Sendable {
        /// The row that was due last. The older ones may have expired, or may be of a topic that APNs refuses.
        case newest
        /// The row that has been due longest.
        case oldest
        /// A batch of the oldest, of which one row is sent at most: the oldest row did not need to be sent.
        case batch
    }

    package enum Change: Hashable, Sendable {
        case held(Cause)
        case released
    }

    /// The time between two trials of a client.
    package static let trialInterval: TimeAmount = .seconds(1)
    /// The time between two trials of any clients. A trial occupies a connection for as long.
    package static let trialPause = BatchMachine.trialLimit
    /// The shortest time between two reports about one client. A client with a good and a bad topic is held and released
    /// all the time.
    package static let reportInterval: TimeAmount = .minutes(1)

    private var held: [Int: (cause: Cause, nextTrial: NIODeadline, trial: Trial)] = [:]
    private var nextTrial: NIODeadline = .distantPast
    private var reported: [Int: (cause: Cause, at: NIODeadline)] = [:]

    package init() {}

    /// The held clients, in no order.
    package var clients: [Int] { Array(self.held.keys) }

    package func contains(_ client: Int) -> Bool { self.held[client] != nil }

    /// Notes what an outcome says about a client. Returns a change that is worth a report.
    package mutating func note(_ sign: ClientSign, of client: Int, now: NIODeadline) -> Change? {
        switch sign {
        case .silent: return nil
        case .works:
            guard self.held.removeValue(forKey: client) != nil else { return nil }
            return self.reported[client] == nil ? nil : .released
        case .refused(let reason): return self.hold(client, .refused(reason), now: now)
        case .unreachable: return self.hold(client, .unreachable, now: now)
        case .unanswered: return self.hold(client, .unanswered, now: now)
        }
    }

    private mutating func hold(_ client: Int, _ cause: Cause, now: NIODeadline) -> Change? {
        if let present = self.held[client] {
            guard present.cause == .unanswered, cause != .unanswered else { return nil }
            self.held[client]?.cause = cause
        } else {
            self.held[client] = (cause, now + Self.trialInterval, .newest)
        }
        if let last = self.reported[client], now - last.at < Self.reportInterval,
            last.cause != .unanswered || cause == .unanswered
        {
            return nil
        }
        self.reported[client] = (cause, now)
        return .held(cause)
    }

    /// Returns the client whose turn it is to be tried, and sets its next turn.
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
