internal import FerryCore

extension [UInt8] {
    /// The JSON object of an event: `{"event":"connected","connection":1,"open":1,"text":"connection 1 is open, of 1"}`.
    ///
    /// `text` is one line for a person. `tags` is a list of numbers. The object has no token and no payload.
    init(json event: ProviderEvent) {
        self = Array(#"{"event":"#.utf8)
        self.appendJSONString(event.name)
        switch event {
        case .connected(let id, let open), .disconnected(let id, let open):
            self.append("connection", id.rawValue)
            self.append("open", UInt64(clamping: open))
        case .transmitted(let id, let tags):
            self.append("connection", id.rawValue)
            self.append(tags: tags)
        case .cacheTooSmall(let by): self.append("by", UInt64(clamping: by))
        case .transmissionError(let rejection, let tag, _, _):
            self.append(rejection)
            if let tag { self.append("tag", tag.rawValue) }
        case .requestReset(let id, let code, let tag):
            self.append("connection", id.rawValue)
            self.append("errorCode", UInt64(code.rawValue))
            if let tag { self.append("tag", tag.rawValue) }
        case .socketError(let id, _), .timeout(let id): self.append("connection", id.rawValue)
        case .resent(let count, let afterOutcome):
            self.append("count", UInt64(clamping: count))
            self.append(#","afterOutcome":\#(afterOutcome)"#)
        case .contradicted(let contradiction):
            self.append("count", UInt64(clamping: contradiction.count))
            self.append("upTo", UInt64(clamping: contradiction.upTo))
            if case .rejected(let rejection) = contradiction.kind { self.append(rejection) }
            self.append(tags: contradiction.tags)
        case .windowAdjusted(let size): self.append("size", UInt64(clamping: size))
        case .dropped(let count): self.append("count", UInt64(clamping: count))
        case .completed, .error, .migration: break
        }
        self.append(#","text":"#)
        self.appendJSONString("\(event)")
        self.append(UInt8(ascii: "}"))
    }

    private mutating func append(_ text: String) { self.append(contentsOf: text.utf8) }

    private mutating func append(_ name: StaticString, _ number: UInt64) { self.append(",\"\(name)\":\(number)") }

    private mutating func append(_ rejection: Rejection) {
        self.append(#","reason":"#)
        self.appendJSONString(rejection.reason.rawValue)
        if let status = rejection.status { self.append("status", UInt64(clamping: status)) }
    }

    private mutating func append(tags: [PushTag]) {
        let list = tags.map { "\($0.rawValue)" }.joined(separator: ",")
        self.append(",\"tags\":[\(list)]")
    }
}

extension ProviderEvent {
    fileprivate var name: String {
        switch self {
        case .connected: "connected"
        case .disconnected: "disconnected"
        case .transmitted: "transmitted"
        case .completed: "completed"
        case .cacheTooSmall: "cacheTooSmall"
        case .transmissionError: "transmissionError"
        case .requestReset: "requestReset"
        case .socketError: "socketError"
        case .timeout: "timeout"
        case .error: "error"
        case .resent: "resent"
        case .contradicted: "contradicted"
        case .windowAdjusted: "windowAdjusted"
        case .migration: "migration"
        case .dropped: "dropped"
        }
    }
}
