internal import DequeModule

/// The hand-overs that run, and what was handed over lately, without I/O.
///
/// ```
///             arrived           ended well
///   unknown ──────────▶ running ──────────▶ remembered
///      ▲                   │                    │
///      └───────────────────┴────────────────────┘
///          ended badly       dropped as the oldest
/// ```
struct HandOverTable<Call> {
    /// What to do with a notification that arrived.
    enum Action {
        /// Begin this call.
        case begin(Call)
        /// Wait for a call that runs.
        case join(Call)
        /// Nothing: it was handed over before.
        case known
        /// Refuse it: too many calls run.
        case refuse
    }

    /// How many calls may run. Code that hangs holds its place until it returns.
    static var runningLimit: Int { 1024 }
    /// How many notifications are remembered that were handed over.
    static var memoryLimit: Int { 65_536 }

    private let remembers: Bool
    private var running: [String: Call] = [:]
    private var known: Set<String> = []
    private var order: Deque<String> = []

    /// - Parameter remembers: false if what takes the notifications knows its copies itself.
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
