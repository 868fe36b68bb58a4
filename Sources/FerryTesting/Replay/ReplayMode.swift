/// How strictly a replay compares what comes with what the transcript has.
///
/// Compared are messages, so that it never matters how bytes are cut into packets.
@nonexhaustive
public enum ReplayMode: Sendable, Hashable {
    /// Every byte must be as recorded, but for what may vary.
    case exact(varying: Varying)
    /// Every message must mean what the recorded one meant: the order of items and unknown items do not matter.
    case semantic(varying: Varying)

    /// Every byte must be as recorded.
    public static let exact = ReplayMode.exact(varying: [])
    /// Every message must mean what the recorded one meant; identifiers and times are the peer's own business.
    public static let semantic = ReplayMode.semantic(varying: [.identifiers, .times])

    /// What a peer may do otherwise than it was recorded.
    public struct Varying: OptionSet, Sendable, Hashable {
        /// A bit for each.
        public let rawValue: UInt8

        /// The bits of those that may vary.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Identifiers of notifications. Error responses that are replayed name the identifier that the peer used in
        /// the place of the recorded one.
        public static let identifiers = Varying(rawValue: 1)
        /// Expirations, but not whether there is one, and the times of feedback tuples.
        public static let times = Varying(rawValue: 2)

        func allows(_ field: WireFields.Field) -> Bool {
            switch field {
            case .identifier: self.contains(.identifiers)
            case .expiration, .time: self.contains(.times)
            default: false
            }
        }
    }

    var varying: Varying {
        switch self {
        case .exact(let varying), .semantic(let varying): varying
        }
    }

    /// - Parameter sender: error responses name identifiers that were given to them, and may not vary.
    func varying(for sender: Transcript.Side) -> Varying {
        sender == .server ? self.varying.subtracting(.identifiers) : self.varying
    }

    func matches(_ found: WireMessage, _ expected: WireMessage, from sender: Transcript.Side) -> Bool {
        let varying = self.varying(for: sender)
        return switch self {
        case .exact: found.equals(expected, varying: varying)
        case .semantic: found.means(expected, varying: varying)
        }
    }
}
