/// Splits the bytes of a transcript into messages, one line each, and describes each in words. The descriptions give
/// only the lengths of tokens and payloads.
struct TranscriptAnnotator {
    private let service: Transcript.Service
    private var readers: [Transcript.Stream: WireMessageReader] = [:]

    init(_ service: Transcript.Service) {
        self.service = service
    }

    /// Returns the events that replace the next event: one for each message that ends in it, and one for the remaining
    /// bytes.
    mutating func annotate(_ event: Transcript.Event) -> [Transcript.Event] {
        guard case .bytes(let bytes) = event.kind else { return [event] }
        let stream = Transcript.Stream(connection: event.connection, sender: event.sender)
        var reader = self.readers[stream] ?? WireMessageReader(self.service, sentBy: event.sender)
        var events: [Transcript.Event] = []
        var rest: [UInt8] = []
        func add(_ comment: String) {
            guard !rest.isEmpty else { return }
            var part = event
            part.kind = .bytes(rest)
            part.comment = comment
            events.append(part)
            rest = []
        }
        var isReadable = true
        for byte in bytes {
            rest.append(byte)
            guard let message = reader.next(byte) else { continue }
            isReadable = message.isReadable
            if isReadable { add(message.summary) }
        }
        let begun = reader.partial.bytes.count
        add(isReadable ? "\(begun) bytes of a message that goes on" : "\(rest.count) bytes that are no message")
        self.readers[stream] = reader
        return events
    }

    /// Forgets a connection that has ended.
    mutating func forget(connection: Int) {
        self.readers[Transcript.Stream(connection: connection, sender: .client)] = nil
        self.readers[Transcript.Stream(connection: connection, sender: .server)] = nil
    }
}

extension Transcript {
    /// Returns the transcript with one line for each message, and a comment that describes it.
    public func annotated() -> Transcript {
        var annotator = TranscriptAnnotator(self.service)
        var result = self
        result.events = self.events.flatMap { annotator.annotate($0) }
        return result
    }
}
