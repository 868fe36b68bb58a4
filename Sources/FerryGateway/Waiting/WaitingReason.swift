/// The reason why a notification has no final answer yet. The words are in answers and options, so never change one.
package enum WaitingReason: String, CaseIterable, Codable, Sendable {
    /// The upstream has it, and has not answered.
    case underWay
    /// The upstream cannot be reached.
    case noConnection
    /// APNs refuses its topic or the credentials, or has refused the first tokens of the topic: the gate is shut.
    case topicRefused
    /// It goes out again after a pause, because APNs refused it for now.
    case backOff
    /// The store does not have it yet.
    case store
    /// It goes over a side connection, and that takes nothing now.
    case sideConnection
    /// Others of its client have their turn first.
    case turn

    /// The words for people.
    package var words: String {
        switch self {
        case .underWay: "no answer of APNs yet"
        case .noConnection: "APNs cannot be reached"
        case .topicRefused: "its topic is refused"
        case .backOff: "goes out again after a pause"
        case .store: "not in the store yet"
        case .sideConnection: "waits for a side connection"
        case .turn: "waits for its turn"
        }
    }
}
