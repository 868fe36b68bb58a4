internal import FerryCore

/// What a command asks the process that has the store: one JSON object on a line.
///
/// ```
/// {"do":"list","limit":100,"before":17,"state":"dead"}
/// {"do":"show","uuid":"…"}
/// {"do":"redeliver","uuid":"…"}          without a uuid: all that were set aside
/// {"do":"deliverUnsent"}                 what nobody gets
/// {"do":"take","signedPayload":"…"}      of the notification history
/// {"do":"learn","signedPayload":"…"}     its certificates alone
/// ```
package enum ControlRequest: Sendable {
    case list(limit: Int, before: UInt64?, state: StoredNotification.Delivery.State?)
    case show(uuid: String)
    case redeliver(uuid: String?)
    case deliverUnsent
    case take(signedPayload: String)
    case learn(signedPayload: String)

    /// The most notifications of one list.
    package static let listLimit = 10_000

    init?(_ line: [UInt8]) {
        guard let object = JSONObject(line) else { return nil }
        switch object.string("do") {
        case "list":
            let state = object.string("state").flatMap { name in
                StoredNotification.Delivery.State.allCases.first { $0.word == name }
            }
            let limit = object.integer("limit").map { Int(clamping: $0) } ?? 100
            self = .list(
                limit: min(max(limit, 1), Self.listLimit),
                before: object.integer("before").map { UInt64(clamping: $0) },
                state: state
            )
        case "show":
            guard let uuid = object.string("uuid") else { return nil }
            self = .show(uuid: uuid)
        case "redeliver": self = .redeliver(uuid: object.string("uuid"))
        case "deliverUnsent": self = .deliverUnsent
        case "take":
            guard let text = object.string("signedPayload") else { return nil }
            self = .take(signedPayload: text)
        case "learn":
            guard let text = object.string("signedPayload") else { return nil }
            self = .learn(signedPayload: text)
        default: return nil
        }
    }

    /// The request as a line, without its end.
    var line: [UInt8] {
        var members: [(String, [UInt8])] = []
        func add(_ name: String, _ text: String) { members.append((name, JSONText.quoted(text))) }
        switch self {
        case .list(let limit, let before, let state):
            add("do", "list")
            members.append(("limit", Array("\(limit)".utf8)))
            if let before { members.append(("before", Array("\(before)".utf8))) }
            if let state { add("state", state.word) }
        case .show(let uuid):
            add("do", "show")
            add("uuid", uuid)
        case .redeliver(let uuid):
            add("do", "redeliver")
            if let uuid { add("uuid", uuid) }
        case .deliverUnsent: add("do", "deliverUnsent")
        case .take(let text):
            add("do", "take")
            add("signedPayload", text)
        case .learn(let text):
            add("do", "learn")
            add("signedPayload", text)
        }
        return JSONText.object(members)
    }
}
