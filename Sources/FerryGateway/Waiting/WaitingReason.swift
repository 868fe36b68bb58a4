/// The reason why a notification has no final answer yet. The names of the cases are in answers and options, so never
/// change a name.
package enum WaitingReason: String, CaseIterable, Codable, Sendable {
    /// The provider of the upstream has the notification, and APNs has not answered.
    case underWay
    /// There is no connection to the upstream, so the notification waits at the gateway or at the provider.
    case noConnection
    /// The gate is shut: APNs refuses the topic or the credentials, or has refused the topic's first tokens.
    case topicRefused
    /// The notification goes out again after a pause, because the last attempt failed.
    case backOff
    /// The store does not have the notification yet.
    case store
    /// The notification waits for its turn on a side connection.
    case sideConnection
    /// The notification waits for its turn on the common connection.
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
