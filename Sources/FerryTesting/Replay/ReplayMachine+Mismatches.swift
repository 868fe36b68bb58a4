extension ReplayMachine {
    func mismatch(_ expected: ReplayPart.Expected, found: WireMessage) -> ReplayMismatch {
        ReplayMismatch(
            line: self.part.events[expected.event].line,
            connection: self.part.connection,
            expected: expected.message.summary,
            found: found.summary,
            expectedBytes: expected.message.bytes,
            foundBytes: found.bytes
        )
    }

    func mismatch(_ expected: WireMessage, found: WireMessage) -> ReplayMismatch {
        ReplayMismatch(
            line: self.part.events.last { $0.sender == self.part.side.peer }?.line ?? 0,
            connection: self.part.connection,
            expected: expected.bytes.isEmpty ? "the end of the stream" : expected.summary,
            found: found.bytes.isEmpty ? "the end of the stream" : found.summary,
            expectedBytes: expected.bytes,
            foundBytes: found.bytes
        )
    }

    func mismatch(_ expected: ReplayPart.Expected, found: String) -> ReplayMismatch {
        ReplayMismatch(
            line: self.part.events[expected.event].line,
            connection: self.part.connection,
            expected: expected.message.summary,
            found: found,
            expectedBytes: expected.message.bytes
        )
    }

    func mismatch(_ event: Transcript.Event, found: String) -> ReplayMismatch {
        let who = event.sender == .client ? "the client" : "the server"
        let what =
            switch event.kind {
            case .open: "a connection"
            case .bytes(let bytes): "\(bytes.count) bytes of \(who)"
            case .halfClose, .end: "\(who) to end its stream"
            case .reset: "\(who) to reset the connection"
            }
        return ReplayMismatch(line: event.line, connection: self.part.connection, expected: what, found: found)
    }
}
