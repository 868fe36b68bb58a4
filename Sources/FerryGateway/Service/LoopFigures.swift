package import FerryCore

/// The figures of a gateway's event loop.
package struct LoopFigures: Sendable {
    /// The durations of the driver's turns on the event loop.
    package var turns = TimeHistogram()
    /// The times from a commit to the store's answer ``StoreAnswer/durable``. Other answers are not counted.
    package var commits = TimeHistogram()
    /// The number of refused connections by cause.
    package var refusals: [RefusalCause: Int] = [:]
}

/// The cause for which a connection was refused.
package enum RefusalCause: String, CaseIterable, Sendable {
    /// No client of the configuration has the certificate, the certificate's authority or dates are not valid, or a
    /// reload has removed the client.
    case certificate
    /// The TLS handshake failed. For example, there was no common version or cipher, or the peer ended the handshake.
    case handshake
    /// A proxy's connection did not begin with the header that names the client.
    case proxy
    /// Notifications of the client wait at a shut gate. An alarm has reported the gate.
    case waiting
    /// The client has used its share of the room for notifications without an answer.
    case clientRoom = "client_room"
    /// There is no room for notifications of any client.
    case noRoom = "no_room"
    /// The store cannot be written, does not answer, gives no feedback rows, or belongs to another gateway.
    case store
    /// The client had sent nothing, and another connection needed the place.
    case place
}
