package import FerryCore

/// A topic of an upstream whose gate is shut, with the cause. Other topics of the upstream may have other causes.
package struct ShutTopic: Hashable, Sendable {
    package var topic: String
    /// The reason of the last refusal; nil if no connection works with the credentials.
    package var reason: Reason?
    /// The number of notifications that wait at this gate.
    package var held: Int
}
