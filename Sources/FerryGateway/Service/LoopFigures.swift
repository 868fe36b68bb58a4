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
    /// No client of the configuration has its certificate, or its authority or dates do not count. Or a reload has
    /// removed the client.
    case certificate
    /// TLS failed: there was no common version or cipher, or the peer ended it.
    case handshake
    /// Notifications of the client wait at a shut gate. An alarm has reported it.
    case waiting
    /// The client has its share of the room for notifications without an answer.
    case clientRoom = "client_room"
    /// There is no room for notifications of any client.
    case noRoom = "no_room"
    /// The store is in trouble, refused the client's claim, or belongs to another gateway.
    case store
    /// It said nothing, and another connection needed its place.
    case place
}
