internal import FerryCore

extension Transcript {
    /// The transcript as a text that ``init(parsing:)-(String)`` reads.
    public var text: String {
        var text = Self.opening(service: self.service, headers: self.headers)
        for event in self.events { text += event.text + "\n" }
        return text
    }

    /// The lines above the events, with the empty line that ends them.
    static func opening(service: Service, headers: [Header]) -> String {
        let lines = headers.map { "\($0.name): \($0.value)\n" }
        return "ferry transcript 1\nservice: \(service.rawValue)\n\(lines.joined())\n"
    }
}

extension Transcript.Event {
    /// The event as a line, without the line break.
    public var text: String {
        let comment = self.comment.map { "  # \($0)" } ?? ""
        return "\(self.time.transcriptTime) \(self.connection)\(self.sender.rawValue) \(self.kind.text)\(comment)"
    }
}

extension Transcript.Kind {
    fileprivate var text: String {
        switch self {
        case .open: "open"
        case .bytes(let bytes): "bytes \(bytes.hexadecimal)"
        case .halfClose: "half-close"
        case .end: "end"
        case .reset: "reset"
        }
    }
}

extension Duration {
    /// The duration as seconds with six decimals.
    fileprivate var transcriptTime: String {
        // A program can build an event with a negative time, which the format cannot express.
        let (seconds, attoseconds) = max(self, .zero).components
        let micro = String(attoseconds / 1_000_000_000_000)
        return "\(seconds).\(String(repeating: "0", count: 6 - micro.count))\(micro)"
    }
}
