package import FerryCore

/// A topic whose gate is shut, with the reason. Other topics of the same upstream may have other reasons.
package struct ShutTopic: Hashable, Sendable {
    package var topic: String
    /// The reason of the last refusal; nil if no connection works with the credentials.
    package var reason: Reason?
    /// The number of notifications that wait at this gate.
    package var held: Int
}
