internal import Ferry
internal import FerryTerminal

/// Tells the events of a provider in plain words.
struct DemoNarrator {
    private let start = ContinuousClock.now
    /// Whether the server is Ferry's gateway, which discards nothing.
    var isBeforeGateway = false
    /// The last known limit of unsettled notifications. Nil before the first event `windowAdjusted`.
    private var window: Int?
    /// Whether an error response on the current connection has named the rejected notification.
    private var hasRejection = false

    /// Prints one line, with the time.
    func say(_ text: String) {
        let tenths = Int((ContinuousClock.now - self.start) / .milliseconds(10))
        let fraction = tenths % 100
        // If the output has failed, the table at the end fails too, and that failure is reported.
        try? Console.print("\(tenths / 100).\(fraction < 10 ? "0" : "")\(fraction) s  \(text)")
    }

    /// Tells an event. Leaves out most events that matter only to programs.
    mutating func tell(_ event: ProviderEvent) {
        switch event {
        case .transmissionError:
            self.hasRejection = true
        case .disconnected:
            self.hasRejection = false
        case .resent where !self.hasRejection:
            // No event reports this error response. In the demo, nothing else makes notifications go out again.
            self.say("the gateway shuts down: status 10, which rejects nothing and names the last one that it took")
        case .windowAdjusted(let size):
            self.tell(window: size)
        case .resent(let count, _) where self.isBeforeGateway:
            return self.say("\(count) go out again: Apple's gateway would have discarded them")
        default:
            break
        }
        if let text = Self.text(event) { self.say(text) }
    }

    /// Tells that the limit of unsettled notifications fell. Says nothing if the limit rose.
    private mutating func tell(window: Int) {
        defer { self.window = window }
        let narrowing =
            "an error costs everything that was sent behind it: now at most \(window) may be unsettled at a time"
        switch self.window {
        case nil: self.say("\(narrowing); before, only the cache was the limit")
        case let before? where window < before: self.say("\(narrowing), before \(before)")
        default: break
        }
    }

    static func text(_ event: ProviderEvent) -> String? {
        switch event {
        case .connected(let id, _):
            "\(id): TLS handshake done"
        case .disconnected(let id, _):
            "\(id): closed"
        case .transmissionError(let rejection, let tag, _, _):
            "the gateway rejected \(tag.map { "notification \($0)" } ?? "something"): \(rejection.reason)"
                + (rejection.status.map { ", status \($0)" } ?? "")
        case .resent(let count, afterOutcome: false):
            "\(count) that the gateway had discarded go out again"
        case .resent(let count, afterOutcome: true):
            "\(count) that were presumed accepted had been discarded; they go out again"
        case .contradicted(let contradiction):
            "\(contradiction.count) presumed accepted turned out not to be; silence must last longer now, so the rest takes a while"
        case .completed:
            "everything has its outcome"
        case .error(let error), .socketError(_, let error):
            error.message
        default:
            nil
        }
    }
}
