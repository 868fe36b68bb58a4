/// The reason why a new connection is not accepted.
enum ClosedReason: Hashable, Sendable {
    /// Another gateway has the store.
    case storeTaken
    /// The store cannot be written, or does not answer in time.
    case storeTrouble
    /// The notifications of all clients without an answer fill the room of the gateway.
    case noRoom
    /// A notification of the client waits at the shut gate of the client's first topic.
    case topicRefused
    /// The client's notifications without an answer take as much room as is still free for all clients.
    case noClientRoom
    /// A reload has removed the client.
    case removed

    /// The label in the metrics.
    var cause: RefusalCause {
        switch self {
        case .storeTaken, .storeTrouble: .store
        case .noRoom: .noRoom
        case .topicRefused: .waiting
        case .noClientRoom: .clientRoom
        case .removed: .certificate
        }
    }

    /// The sentence for the log. It has no counts, because the log names an address once for the same sentence.
    ///
    /// - Parameter client: the name of the client; nil if it is not known yet.
    func sentence(_ client: String?) -> String {
        let client = client ?? "the client"
        return switch self {
        case .storeTaken: "Another gateway has taken the store."
        case .storeTrouble: "The store cannot be written, or does not answer."
        case .noRoom: "There is no room for notifications: too many of all clients wait for an answer of APNs."
        case .topicRefused: "Notifications of \(client) wait, as the alarm says."
        case .noClientRoom:
            "There is no room for more notifications of \(client): too many of its own wait for an answer of APNs."
        case .removed: "The configuration does not name \(client) any more."
        }
    }
}
