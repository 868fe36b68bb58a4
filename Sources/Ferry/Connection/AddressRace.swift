package import NIOCore

/// The order and the times in which the addresses of a host are tried, until TLS is established on one. Without I/O.
///
/// If an address fails, the next one starts at once. If an address is slow, it continues and the next one starts beside
/// it, as in "Happy Eyeballs" (RFC 8305). Unlike there, the race runs to the end of the TLS handshake, because an
/// address may accept TCP connections and then stay silent.
///
/// ```
///     first    TCP ── handshake ─────────────▶ the first that completes its handshake wins
///     second           └ TCP ── handshake ───▶ begun 250 ms after the first, or 2 s if that has TCP
/// ```
///
/// Each address that was started:
///
/// ```
///                TCP
///   connecting ─────────▶ connected
///       │                     │
///       └──────────┬──────────┘
///                  ▼ an error
///               failed
/// ```
package struct AddressRace: Sendable {
    package enum Action: Equatable, Sendable {
        /// Connect to the address with this index, and call ``next(now:)`` again.
        case start(Int)
        /// Call ``next(now:)`` again at this time, and after each change. Nil if no other address is left to start.
        case wait(until: NIODeadline?)
        /// All addresses have failed.
        case giveUp
    }

    private enum State {
        case connecting(since: NIODeadline)
        /// The TCP connection exists; the handshake continues.
        case connected(since: NIODeadline)
        case failed
    }

    /// The time that an address gets for TCP alone. Then the next address starts (RFC 8305 section 5).
    private static let connectPatience: TimeAmount = .milliseconds(250)
    /// The time that an address with TCP gets for TCP and TLS. Then the next address starts.
    private static let handshakePatience: TimeAmount = .seconds(2)

    private let count: Int
    /// The upper bound for both times. It leaves the last address the same share of the limit.
    private let share: TimeAmount
    /// The states of the addresses that were started, in order.
    private var states: [State] = []

    /// - Parameters:
    ///   - count: the number of addresses.
    ///   - limit: the time for all addresses together.
    package init(count: Int, limit: TimeAmount) {
        self.count = count
        self.share = .nanoseconds(limit.nanoseconds / Int64(count + 1))
    }

    package mutating func next(now: NIODeadline) -> Action {
        if let due = self.due, now < due { return .wait(until: self.states.count < self.count ? due : nil) }
        guard self.states.count == self.count else {
            self.states.append(.connecting(since: now))
            return .start(self.states.count - 1)
        }
        return self.states.contains { if case .failed = $0 { false } else { true } } ? .wait(until: nil) : .giveUp
    }

    /// The time at which the next address starts. Nil: at once, because the last one failed or no address was started.
    private var due: NIODeadline? {
        switch self.states.last {
        case .connecting(let since): since + min(Self.connectPatience, self.share)
        case .connected(let since): since + min(Self.handshakePatience, self.share)
        case .failed, nil: nil
        }
    }

    /// Notes that the address with this index has a TCP connection.
    package mutating func connected(_ place: Int) {
        guard self.states.indices.contains(place), case .connecting(let since) = self.states[place] else { return }
        self.states[place] = .connected(since: since)
    }

    package mutating func failed(_ place: Int) {
        guard self.states.indices.contains(place) else { return }
        self.states[place] = .failed
    }
}
