internal import FerryHTTP1
internal import NIOHTTP1

/// A request of a command to the process that has the store. Each request is a route of the control server. The answer
/// is lines of JSON, one object each.
///
/// | route | body | answer |
/// |---|---|---|
/// | `GET /list?limit=100&before=17&state=dead` | | each notification, the newest first |
/// | `POST /show` | a UUID | the notification with its content |
/// | `POST /redeliver` | a UUID | the number of deliveries that begin again |
/// | `POST /redeliver-dead` | | the number of deliveries that were set aside and begin again |
/// | `POST /deliver-unsent` | | the number of notifications that no destination got before and whose delivery begins |
/// | `POST /take` | a `signedPayload` of the notification history | stored, duplicate, or the reason of the failure |
/// | `POST /learn` | a `signedPayload` | whether its certificates were learnt |
package enum ControlRequest: Hashable, Sendable {
    case list(limit: Int, before: UInt64?, state: StoredNotification.Delivery.State?)
    case show(uuid: String)
    /// Delivers one notification again; if `uuid` is nil, all deliveries that were set aside.
    case redeliver(uuid: String?)
    case deliverUnsent
    case take(signedPayload: String)
    case learn(signedPayload: String)

    /// The largest number of notifications in one list.
    package static let listLimit = 10_000

    /// Returns nil if no route fits the request, or if the request names an unknown state.
    init?(_ request: HTTPServerRequest) {
        let text = String(decoding: request.body, as: UTF8.self)
        switch (request.method, request.path) {
        case ("GET", "/list"):
            let state = request.parameter("state").map { name in
                StoredNotification.Delivery.State.allCases.first { $0.word == name }
            }
            // An unknown state is refused. Otherwise the answer would be a list of all notifications, and would look
            // like a list of that state.
            if case .some(nil) = state { return nil }
            let limit = request.parameter("limit").flatMap { Int($0) } ?? 100
            self = .list(
                limit: min(max(limit, 1), Self.listLimit),
                before: request.parameter("before").flatMap { UInt64($0) },
                state: state ?? nil
            )
        case ("POST", "/show"): self = .show(uuid: text)
        case ("POST", "/redeliver"): self = .redeliver(uuid: text)
        case ("POST", "/redeliver-dead"): self = .redeliver(uuid: nil)
        case ("POST", "/deliver-unsent"): self = .deliverUnsent
        case ("POST", "/take"): self = .take(signedPayload: text)
        case ("POST", "/learn"): self = .learn(signedPayload: text)
        default: return nil
        }
    }

    /// The method, the target and the body of the route.
    var route: (method: HTTPMethod, target: String, body: String) {
        switch self {
        case .list(let limit, let before, let state):
            let place = before.map { "&before=\($0)" } ?? ""
            return (.GET, "/list?limit=\(limit)\(place)\(state.map { "&state=\($0.word)" } ?? "")", "")
        case .show(let uuid): return (.POST, "/show", uuid)
        case .redeliver(let uuid?): return (.POST, "/redeliver", uuid)
        case .redeliver(nil): return (.POST, "/redeliver-dead", "")
        case .deliverUnsent: return (.POST, "/deliver-unsent", "")
        case .take(let text): return (.POST, "/take", text)
        case .learn(let text): return (.POST, "/learn", text)
        }
    }

    /// Whether the request does no harm if the process gets it twice.
    var isIdempotent: Bool {
        switch self {
        case .list, .show, .take, .learn: true
        case .redeliver, .deliverUnsent: false
        }
    }
}
