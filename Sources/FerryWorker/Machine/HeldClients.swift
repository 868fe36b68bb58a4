package import FerryCore
package import NIOCore

/// The clients whose rows are left alone, because APNs refuses their credentials or topic, or cannot be reached. One of
/// their rows is tried each second. A machine without I/O.
package struct HeldClients {
    package enum Cause: Hashable, Sendable {
        /// The reason is nil if the handshake was refused.
        case refused(Reason?)
        case unreachable
    }

    package enum Change: Hashable, Sendable {
        case held(Cause)
        case released
    }

    private struct Held {
        var nextTrial: NIODeadline
    }

    /// The time between two trials.
    package static let trialInterval: TimeAmount = .seconds(1)
    /// The shortest time between two reports about one client. A client with a good and a bad topic is held and released
    /// all the time.
    package static let reportInterval: TimeAmount = .minutes(1)

    private var held: [Int: Held] = [:]
    private var reported: [Int: NIODeadline] = [:]

    package init() {}

    /// The held clients, in no order.
    package var clients: [Int] { Array(self.held.keys) }

    /// Notes what an outcome says about a client. Returns a change that is worth a report.
    package mutating func note(_ sign: ClientSign, of client: Int, now: NIODeadline) -> Change? {
        switch sign {
        case .silent: return nil
        case .works:
            guard self.held.removeValue(forKey: client) != nil else { return nil }
            return self.reported[client] == nil ? nil : .released
        case .refused(let reason): return self.hold(client, .refused(reason), now: now)
        case .unreachable: return self.hold(client, .unreachable, now: now)
        }
    }

    private mutating func hold(_ client: Int, _ cause: Cause, now: NIODeadline) -> Change? {
        guard self.held[client] == nil else { return nil }
        self.held[client] = Held(nextTrial: now + Self.trialInterval)
        if let last = self.reported[client], now - last < Self.reportInterval { return nil }
        self.reported[client] = now
        return .held(cause)
    }

    /// Returns a client whose turn it is to be tried, and sets its next turn.
    package mutating func trial(now: NIODeadline) -> Int? {
        guard let client = self.held.first(where: { $0.value.nextTrial <= now })?.key else { return nil }
        self.held[client]?.nextTrial = now + Self.trialInterval
        return client
    }
}
