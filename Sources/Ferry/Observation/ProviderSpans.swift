internal import FerryCore
internal import Tracing

/// The spans of a provider's callers, after OpenTelemetry's conventions for messaging.
///
/// A span holds no device token, no payload and no tag.
///
/// Source: OpenTelemetry, "Semantic conventions for messaging spans".
struct ProviderSpans: Sendable {
    private let tracer: any Tracer
    private let host: String
    private let port: Int
    /// The topic of notifications without one; nil if the credentials decide.
    private let topic: String?

    init(_ tracer: any Tracer, host: String, port: Int, topic: String? = nil) {
        self.tracer = tracer
        self.host = host
        self.port = port
        self.topic = topic
    }

    func begin(sending notification: PushNotification) -> any Span {
        let topic = notification.topic ?? self.topic
        let span = self.begin(topic.map { "send \($0)" } ?? "send", operation: "send")
        if let topic { span.attributes["messaging.destination.name"] = topic }
        if let apnsID = notification.apnsID { span.attributes["messaging.message.id"] = "\(apnsID)" }
        return span
    }

    func begin(submitting count: Int) -> any Span {
        let span = self.begin("submit", operation: "submit")
        span.attributes["messaging.batch.message_count"] = count
        return span
    }

    private func begin(_ name: String, operation: String) -> any Span {
        // No context goes out with a notification. The conventions then want the kind "client".
        let span = self.tracer.startSpan(name, ofKind: .client)
        span.attributes["messaging.system"] = "apns"
        span.attributes["messaging.operation.name"] = operation
        span.attributes["messaging.operation.type"] = "send"
        span.attributes["server.address"] = self.host
        span.attributes["server.port"] = self.port
        return span
    }

    /// Ends the span of notifications that were taken.
    func end(_ span: any Span) { span.end() }

    /// Ends the span of a notification. Everything but an acceptance is an error.
    func end(_ span: any Span, _ outcome: Outcome) {
        span.attributes["ferry.outcome"] = "\(outcome.word)"
        switch outcome {
        case .accepted(let acceptance): span.attributes["ferry.acceptance"] = "\(acceptance)"
        case .rejected(let rejection):
            self.fail(span, rejection.reason.dimension(unknown: "_OTHER"))
            if let status = rejection.status { span.attributes["ferry.status"] = status }
        case .expired: self.fail(span, "expired")
        case .undelivered(let cause): self.fail(span, "\(cause)")
        case .uncertain(let cause): self.fail(span, "\(cause)")
        }
        span.end()
    }

    /// Ends the span of notifications that were not taken.
    func end(_ span: any Span, _ error: SubmitError) {
        self.fail(span, error == .cancelled ? "cancelled" : "shutDown")
        span.end()
    }

    private func fail(_ span: any Span, _ type: String) {
        span.attributes["error.type"] = type
        span.setStatus(SpanStatus(code: .error))
    }
}
