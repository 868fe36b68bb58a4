internal import FerryCore
internal import FerryHTTP2

/// The check of a good line before it is submitted.
enum LineCheck: Sendable {
    /// The binary protocol, with the longest payload that the provider sends, in bytes. A line with a longer payload is
    /// reported and submitted; the provider rejects it before sending.
    case payload(limit: Int)
    /// HTTP/2. A line that APNs would refuse is a bad line.
    case request(RequestCheck)

    /// The reason why the line is bad. Nil if it is good.
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
        return fault.reason == .missingTopic ? Self.missingTopic : fault.message
    }

    static let missingTopic = "there is no 'topic', and no --topic for lines without one"

    /// The warning about a line that is submitted anyway. Nil if there is no warning.
    func warning(of line: PushLine) -> String? {
        guard case .payload(let limit) = self, line.payload.count > limit else { return nil }
        return "\(PayloadLimit.fault(length: line.payload.count, limit: limit)); it is not sent"
    }
}
