/// Whether APNs keeps a message of a broadcast channel for devices that are not connected.
///
/// Open: a policy that Apple adds later is kept as it came. A channel keeps its policy for ever.
///
/// Source: "Sending channel management requests to APNs" (Apple), key `message-storage-policy`.
public struct MessageStoragePolicy: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number of the key `message-storage-policy`.
    public var rawValue: Int

    /// Any number is a policy. APNs refuses those that it does not know.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// 0: APNs keeps no message. It allows more messages, and each needs the expiration 0.
    public static let noMessageStored = MessageStoragePolicy(rawValue: 0)
    /// 1: APNs keeps the most recent message, for at most 8 hours.
    public static let mostRecentMessageStored = MessageStoragePolicy(rawValue: 1)

    /// Apple's name of the policy; the number of an unknown one.
    public var description: String {
        switch self {
        case .noMessageStored: "No Message Stored"
        case .mostRecentMessageStored: "Most Recent Message Stored"
        default: "policy \(self.rawValue)"
        }
    }
}
