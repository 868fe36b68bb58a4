package import NIOCore

/// Which of a host's addresses is tried when, until TLS is established on one. Without I/O.
///
/// An address that fails is followed by the next at once. One that is slow goes on while the next begins beside it, as
/// in "Happy Eyeballs" (RFC 8305), but up to the end of the handshake: an address may take connections and say nothing.
///
/// ```
///     first    TCP ── handshake ─────────────▶ the first that completes its handshake wins
///     second           └ TCP ── handshake ───▶ begun 250 ms after the first, or 2 s if that has TCP
/// ```
package struct AddressRace: Sendable {
    package enum Action: Equatable, Sendable {
        /// Connect to the address with this place in the list, and ask again.
        case start(Int)
        /// Ask again then, and after each change. Nil: there is no other address to begin with.
        case wait(until: NIODeadline?)
        /// All have failed.
        case giveUp
    }

    private enum State {
        case connecting(since: NIODeadline)
        /// There is a TCP connection.
        case connected(since: NIODeadline)
        case failed
    }

    /// How long an address may be without a TCP connection before the next begins (RFC 8305 section 5).
    private static let connectPatience: TimeAmount = .milliseconds(250)
    /// How long one with a TCP connection may be without TLS, from its start.
    private static let handshakePatience: TimeAmount = .seconds(2)

    private let count: Int
    /// So long at most is waited for one address, so that the last still gets as much.
    private let share: TimeAmount
    /// Of the addresses that were begun with, in their order.
    private var states: [State] = []

    /// - Parameters:
    ///   - count: how many addresses there are.
    ///   - limit: for all of them together.
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

    /// When the patience with the address that began last ends; nil when it has failed, or there was none.
    private var due: NIODeadline? {
        switch self.states.last {
        case .connecting(let since): since + min(Self.connectPatience, self.share)
        case .connected(let since): since + min(Self.handshakePatience, self.share)
        case .failed, nil: nil
        }
    }

    /// The address with this place has a TCP connection.
    package mutating func connected(_ place: Int) {
        guard self.states.indices.contains(place), case .connecting(let since) = self.states[place] else { return }
        self.states[place] = .connected(since: since)
    }

    package mutating func failed(_ place: Int) {
        guard self.states.indices.contains(place) else { return }
        self.states[place] = .failed
    }
}
