internal import FerryTesting
internal import Testing

@Suite struct TranscriptRedactorTests {
    private static let transcript = """
        ferry transcript 1
        service: gateway
        0 1> bytes 01 0000000a 00000000 0004 c0ffee01 0014 7b22617073223a7b22616c657274223a22227d7d  # secret
        0 1> bytes 00 0004 c0ffee01 0002 7b7d 00 0004 c0ffee02 0005 7b2261227d
        1 1< bytes 0808 0000000a
        """

    private func bytes(_ transcript: Transcript, _ index: Int) -> [UInt8] {
        guard case .bytes(let bytes) = transcript.events[index].kind else { return [] }
        return bytes
    }

    @Test func `tokens and payloads are replaced length for length, and nothing else`() throws {
        let original = try Transcript(parsing: Self.transcript)
        let redacted = original.redacted()
        #expect(redacted.events.map(\.comment) == [nil, nil, nil])
        #expect(self.bytes(redacted, 2) == self.bytes(original, 2))
        let before = self.bytes(original, 0), after = self.bytes(redacted, 0)
        #expect(after.count == before.count)
        #expect(after[..<11] == before[..<11] && after[15..<17] == before[15..<17])
        #expect(after[11..<15] != before[11..<15])
        #expect(String(decoding: after[17...], as: UTF8.self) == #"{"aps":{"alert":""}}"#)
    }

    @Test func `the same token becomes the same, another becomes another`() throws {
        let redacted = try Transcript(parsing: Self.transcript).redacted()
        let first = self.bytes(redacted, 0)[11..<15], second = self.bytes(redacted, 1)
        #expect(Array(first) == Array(second[3..<7]))
        #expect(Array(first) != Array(second[14..<18]))
    }

    @Test func `two recordings share no tokens`() throws {
        let transcript = try Transcript(parsing: Self.transcript)
        let both = (0..<8).map { _ in self.bytes(transcript.redacted(), 0)[11..<15] }
        #expect(Set(both).count > 1)
    }

    @Test func `bytes that are not a message become zeros`() throws {
        let redacted = try Transcript(parsing: "ferry transcript 1\nservice: gateway\n0 1> bytes 07c0ffee\n").redacted()
        #expect(self.bytes(redacted, 0) == [0, 0, 0, 0])
    }

    @Test func `the bytes may be cut anywhere`() throws {
        var transcript = try Transcript(parsing: Self.transcript)
        transcript.events = transcript.events.flatMap { event -> [Transcript.Event] in
            guard case .bytes(let bytes) = event.kind else { return [event] }
            return bytes.map { Transcript.Event(event.time, event.sender, .bytes([$0])) }
        }
        #expect(transcript.redacted().annotated().events.map(\.comment) == transcript.annotated().events.map(\.comment))
    }
}
