internal import DequeModule

/// The running hand-overs, and the notifications that were handed over lately. Without I/O. If the table does not
/// remember copies (see ``init(remembers:)``), each hand-over ends in `unknown`.
///
/// ```
///             arrived           ended well
///   unknown ──────────▶ running ──────────▶ remembered
///      ▲                   │                    │
///      └───────────────────┴────────────────────┘
///          ended badly       dropped as the oldest
/// ```
struct HandOverTable<Call> {
    /// The action for a notification that arrived.
    enum Action {
        /// Begin this call.
        case begin(Call)
        /// Wait for a running call.
        case join(Call)
        /// Do nothing, because the notification was handed over before.
        case known
        /// Refuse the notification, because too many calls run.
        case refuse
    }

    /// The largest number of running calls. A call of code that hangs counts until the code returns.
    static var runningLimit: Int { 1024 }
    /// The largest number of remembered notifications.
    static var memoryLimit: Int { 65_536 }

    private let remembers: Bool
    private var running: [String: Call] = [:]
    private var known: Set<String> = []
    private var order: Deque<String> = []

    /// - Parameter remembers: whether the table recognizes copies after the hand-over. False with a store, which
    ///   recognizes copies itself.
    init(remembers: Bool) { self.remembers = remembers }

    var runningCount: Int { self.running.count }

    mutating func arrived(_ uuid: String, _ makeCall: () -> Call) -> Action {
        if self.known.contains(uuid) { return .known }
        if let call = self.running[uuid] { return .join(call) }
        guard self.running.count < Self.runningLimit else { return .refuse }
        let call = makeCall()
        self.running[uuid] = call
        return .begin(call)
    }

    mutating func ended(_ uuid: String, isTaken: Bool) {
        guard self.running.removeValue(forKey: uuid) != nil, isTaken, self.remembers else { return }
        if self.order.count >= Self.memoryLimit, let oldest = self.order.popFirst() { self.known.remove(oldest) }
        self.known.insert(uuid)
        self.order.append(uuid)
    }
}
