internal import Ferry

/// Tells the events of an HTTP/2 provider in plain words.
struct HTTP2Narrator {
    let narrator: DemoNarrator
    /// The number of resent notifications that no line has told yet. APNs leaves them unprocessed one by one, and one
    /// line tells the sum.
    private var resent = 0

    init(narrator: DemoNarrator) {
        self.narrator = narrator
    }

    mutating func tell(_ event: ProviderEvent) {
        if case .resent(let count, _) = event {
            self.resent += count
            return
        }
        if self.resent > 0 {
            self.narrator.say("\(self.resent) that APNs had not processed go out again")
            self.resent = 0
        }
        if let text = Self.text(event) { self.narrator.say(text) }
    }

    static func text(_ event: ProviderEvent) -> String? {
        switch event {
        case .connected(let id, _):
            "\(id): TLS handshake done, HTTP/2 agreed on; one request at a time, until a provider token was accepted"
        case .disconnected(let id, _):
            "\(id): closed"
        case .windowAdjusted(let size):
            "at most \(size) requests at a time"
        case .transmissionError(let rejection, let tag, _, _):
            "APNs rejected \(tag.map { "notification \($0)" } ?? "something"): \(rejection.reason)"
                + (rejection.status.map { ", status \($0)" } ?? "")
                + (rejection.timestamp == nil ? "" : ", with the time")
        case .completed:
            "everything has its outcome"
        case .error(let error), .socketError(_, let error):
            error.message
        default:
            nil
        }
    }
}
