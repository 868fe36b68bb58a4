/// The strictness with which a replay compares the peer's messages with the transcript.
///
/// A replay compares whole messages. The division of the bytes into packets never matters.
@nonexhaustive
public enum ReplayMode: Sendable, Hashable {
    /// Every byte must be as recorded, except in the fields that may vary.
    case exact(varying: Varying)
    /// Every message must mean the same as the recorded one. The order of items and unknown items do not matter.
    case semantic(varying: Varying)

    /// Every byte must be as recorded.
    public static let exact = ReplayMode.exact(varying: [])
    /// Every message must mean the same as the recorded one. Identifiers and times may vary.
    public static let semantic = ReplayMode.semantic(varying: [.identifiers, .times])

    /// The fields that may differ from the recorded ones.
    public struct Varying: OptionSet, Sendable, Hashable {
        /// The bits of the fields.
        public let rawValue: UInt8

        /// Creates a set from the bits of its fields.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Identifiers of notifications. Error responses in the replay then name the peer's identifier instead of the
        /// recorded one.
        public static let identifiers = Varying(rawValue: 1)
        /// Expirations and the times of feedback tuples. A notification must still have an expiration if the recorded
        /// one has it, and only then.
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

    /// - Parameter sender: the side that sent the message. The identifiers of a server's error responses never vary,
    ///   because they are the client's.
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
