package import FerryCore

/// The figures of a gateway's event loop.
package struct LoopFigures: Sendable {
    /// The lengths of its turns.
    package var turns = TimeHistogram()
    /// From a commit to the store's answer.
    package var commits = TimeHistogram()
    /// The connections that were refused.
    package var refusals: [RefusalCause: Int] = [:]
}

/// The cause for which a connection was refused.
package enum RefusalCause: String, CaseIterable, Sendable {
    /// No client of the configuration has its certificate, or its authority or dates do not count.
    case certificate
    /// TLS failed: there was no common version or cipher, or the peer ended it.
    case handshake
    /// Notifications of the client wait at a shut gate, or have no room.
    case waiting
    /// There is no room for notifications, or the store has been in trouble for long.
    case noRoom = "no_room"
    /// The store refused the client's claim, or another gateway has the store.
    case store
    /// It said nothing, and another connection needed its place.
    case place
}
