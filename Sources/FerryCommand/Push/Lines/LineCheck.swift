internal import FerryCore
internal import FerryHTTP2

/// What a good line is held against before it is submitted.
enum LineCheck: Sendable {
    /// The binary protocol: the longest payload that the provider sends, in bytes. A longer one is named, submitted, and
    /// rejected before it is sent.
    case payload(limit: Int)
    /// HTTP/2: a line that APNs would refuse is a bad line.
    case request(RequestCheck)

    /// What makes a bad line of it; nil when nothing does.
    func fault(of line: PushLine) -> String? {
        guard case .request(let check) = self else { return nil }
        let fault = check.fault(
            tokenLength: line.token.count,
            topic: line.topic,
            pushType: line.pushType?.code ?? 0,
            priority: line.priority?.rawValue ?? 0,
            collapseID: line.collapseID,
            payloadLength: line.payload.count
        )
        guard let fault else { return nil }
        return fault.reason == .missingTopic
            ? "there is no 'topic', and no --topic for lines without one" : fault.message
    }

    /// What is said of a line that is submitted all the same; nil when nothing is.
    func warning(of line: PushLine) -> String? {
        guard case .payload(let limit) = self, line.payload.count > limit else { return nil }
        return "the payload has \(line.payload.count) bytes; at most \(limit) are sent"
    }
}
