internal import NIOCore

/// The times of the flights of a handshake, to measure the round trip to the peer.
struct HandshakeFlights {
    /// When the last flight was sent; nil once it is answered.
    private var sentAt: NIODeadline?
    private(set) var longest: TimeAmount?

    mutating func sent(at now: NIODeadline) { self.sentAt = now }

    /// Notes bytes of the peer. Only the first ones behind a flight answer it.
    mutating func received(at now: NIODeadline) {
        guard let sentAt else { return }
        self.sentAt = nil
        self.longest = max(self.longest ?? .zero, now - sentAt)
    }
}
