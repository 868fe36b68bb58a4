extension ReplayMachine {
    func mismatch(_ expected: ReplayPart.Expected, found: WireMessage) -> ReplayMismatch {
        ReplayMismatch(
            line: self.part.events[expected.event].line,
            connection: self.part.connection,
            expected: expected.message.summary,
            found: found.summary,
            explanation: self.explanation(expected, found: found),
            expectedBytes: expected.message.bytes,
            foundBytes: found.bytes
        )
    }

    /// Names the fields in which the messages differ, and the line that has the found message. Without this, a lost or
    /// repeated notification looks like the expected one: they differ only in token and payload, which are not shown.
    private func explanation(_ expected: ReplayPart.Expected, found: WireMessage) -> String {
        let peer = self.part.side.peer
        let differences = found.differences(from: expected.message, varying: self.mode.varying(for: peer))
        var sentences = differences.isEmpty ? "" : " They differ in: \(differences.joined(separator: ", "))."
        let varying = ReplayMode.semantic.varying(for: peer)
        if !found.means(expected.message, varying: varying) {
            let same = self.part.expected.filter { found.means($0.message, varying: varying) }
            let place = same.first { $0.event > expected.event } ?? same.last
            let line = place.map { self.part.events[$0.event].line } ?? 0
            if line > 0 { sentences += " What came stands in line \(line)." }
        }
        return sentences
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
