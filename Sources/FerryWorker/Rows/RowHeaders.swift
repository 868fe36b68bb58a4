internal import FerryCore

/// The column `headers`: a JSON object with `pushType`, `priority`, `collapseID` and `topic`, each of which may be left out
/// or null.
struct RowHeaders: Hashable {
    var pushType: PushType?
    var priority: Priority?
    var collapseID: [UInt8] = []
    /// If empty, the row gets the first topic of the client, with the suffix of the push type.
    var topic: [UInt8] = []

    init() {}

    init(_ json: UnsafeBufferPointer<UInt8>) throws(Refusal) {
        var members = JSONMembers(json)
        while true {
            let member: JSONMember?
            do throws(JSONFault) { member = try members.next() } catch { throw .badHeaders }
            guard let member else { return }
            guard member.value.kind != .null else { continue }
            if member.key.equals("pushType", in: json) {
                guard let type = Self.text(member.value, json).flatMap({ PushType(rawValue: $0) }) else {
                    throw .reason(.invalidPushType)
                }
                self.pushType = type
            } else if member.key.equals("priority", in: json) {
                guard let number = member.value.integer(in: json).flatMap({ UInt8(exactly: $0) }),
                    let priority = Priority(rawValue: number)
                else { throw .reason(.badPriority) }
                self.priority = priority
            } else if member.key.equals("collapseID", in: json) {
                guard let text = Self.text(member.value, json), PushNotification.faults(collapseID: text).isEmpty else {
                    throw .reason(.badCollapseID)
                }
                self.collapseID = Array(text.utf8)
            } else if member.key.equals("topic", in: json) {
                guard let text = Self.text(member.value, json), PushNotification.faults(topic: text).isEmpty else {
                    throw .reason(.badTopic)
                }
                self.topic = Array(text.utf8)
            } else {
                throw .badHeaders
            }
        }
    }

    private static func text(_ value: JSONValue, _ json: UnsafeBufferPointer<UInt8>) -> String? {
        guard let text = value.text else { return nil }
        return try? text.decoded(in: json)
    }
}

/// A reason of Ferry's own not to send a row.
enum Refusal: Error, Hashable {
    /// No configured client has the name in `client`.
    case unknownClient
    /// `headers` is no JSON object, is longer than 4,096 bytes, or has an unknown member.
    case badHeaders
    /// A reason that ``Reason`` has a name for.
    case reason(Reason)

    /// The value of the column `reason`.
    var text: String {
        switch self {
        case .unknownClient: "UnknownClient"
        case .badHeaders: "BadHeaders"
        case .reason(let reason): reason.rawValue
        }
    }
}
