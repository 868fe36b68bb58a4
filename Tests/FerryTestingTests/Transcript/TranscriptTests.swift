internal import FerryTesting
internal import Testing

@Suite struct TranscriptTests {
    private static let text = """
        ferry transcript 1
        # a session that was made up
        service: gateway
        client: node-apn 1.7.8

        0.000000 1> open
        0.000310 1> bytes 0200 0000  # a beginning
        0.05     <  bytes 0808AABBccdd
        0.050140 1< half-close
        1        1> end
        2        2> open
        2.1      2< reset
        """

    @Test func `a transcript is read as it stands`() throws {
        let transcript = try Transcript(parsing: Self.text)
        #expect(transcript.service == .gateway)
        #expect(transcript[header: "client"] == "node-apn 1.7.8")
        #expect(transcript.connections == [1, 2])
        let kinds: [Transcript.Kind] = [
            .open, .bytes([2, 0, 0, 0]), .bytes([8, 8, 0xaa, 0xbb, 0xcc, 0xdd]), .halfClose, .end, .open, .reset,
        ]
        #expect(transcript.events.map(\.kind) == kinds)
        #expect(transcript.events.map(\.sender) == [.client, .client, .server, .server, .client, .client, .server])
        #expect(transcript.events.map(\.line) == [6, 7, 8, 9, 10, 11, 12])
        #expect(transcript.events[1].time == .microseconds(310) && transcript.events[1].comment == "a beginning")
        #expect(transcript.events[2].time == .milliseconds(50))
    }

    @Test func `a written transcript is read again`() throws {
        let transcript = try Transcript(parsing: Self.text)
        var again = try Transcript(parsing: transcript.text)
        for index in again.events.indices { again.events[index].line = transcript.events[index].line }
        #expect(again == transcript)
    }

    @Test(
        arguments: [
            ("", 0, "the first line is"),
            ("hello", 1, "the first line is"),
            ("ferry transcript 2\n", 1, "the first line is"),
            ("ferry transcript 1\n", 0, "a header 'service"),
            ("ferry transcript 1\nservice: mail\n", 2, "the service is"),
            ("ferry transcript 1\nservice: gateway\nservice: gateway\n", 3, "named twice"),
            ("ferry transcript 1\nservice: gateway\nno colon\n", 3, "a header is"),
            ("ferry transcript 1\nservice: gateway\n1 1>\n", 3, "an event is"),
            ("ferry transcript 1\nservice: gateway\n-1 1> open\n", 3, "the time is seconds"),
            ("ferry transcript 1\nservice: gateway\n0.0000000001 1> open\n", 3, "the time is seconds"),
            ("ferry transcript 1\nservice: gateway\n1 1> open\n0 1> end\n", 4, "before that of the line above"),
            ("ferry transcript 1\nservice: gateway\n1 x> open\n", 3, "the direction is"),
            ("ferry transcript 1\nservice: gateway\n1 0> open\n", 3, "the direction is"),
            ("ferry transcript 1\nservice: gateway\n1 70000> open\n", 3, "the direction is"),
            ("ferry transcript 1\nservice: gateway\n1 1> sing\n", 3, "the kind is"),
            ("ferry transcript 1\nservice: gateway\n1 1> end now\n", 3, "nothing stands behind"),
            ("ferry transcript 1\nservice: gateway\n1 1> bytes\n", 3, "pairs of hexadecimal digits"),
            ("ferry transcript 1\nservice: gateway\n1 1> bytes 012\n", 3, "pairs of hexadecimal digits"),
            ("ferry transcript 1\nservice: gateway\n1 1> bytes 0g\n", 3, "pairs of hexadecimal digits"),
            ("ferry transcript 1\nservice: gateway\n1 1< open\n", 3, "a client opens"),
            ("ferry transcript 1\nservice: gateway\n1 1> open\n1 1> open\n", 4, "a client opens"),
            ("ferry transcript 1\nservice: gateway\n1 1> end\n1 1> bytes 00\n", 4, "has ended"),
            ("ferry transcript 1\nservice: gateway\n1 1> half-close\n1 1> bytes 00\n", 4, "has half-closed"),
        ]
    )
    func `a text that is not a transcript is refused with its line`(_ text: String, _ line: Int, _ reason: String) {
        let error = #expect(throws: TranscriptError.self) { try Transcript(parsing: text) }
        #expect(error?.line == line)
        #expect(error?.description.contains(reason) == true)
    }

    @Test func `an error shows nothing of the line`() {
        let text = "ferry transcript 1\nservice: gateway\n0 1> bytes c0ffeeg0\n"
        let error = #expect(throws: TranscriptError.self) { try Transcript(parsing: text) }
        #expect(error?.description.contains("c0ffee") == false)
    }

    @Test func `a file that is not UTF-8 is refused`() {
        let error = #expect(throws: TranscriptError.self) {
            try Transcript(parsing: Array("ferry transcript 1\n".utf8) + [0xff, 0xfe])
        }
        #expect(error?.line == 2)
    }

    @Test func `a line that is too long is refused`() {
        let long = String(repeating: "0", count: Transcript.maximumLineLength)
        let error = #expect(throws: TranscriptError.self) {
            try Transcript(parsing: "ferry transcript 1\nservice: gateway\n0 1> bytes \(long)\n")
        }
        #expect(error?.line == 3)
    }

    @Test func `comments say what bytes mean, without tokens and payloads`() throws {
        let transcript = try Transcript(
            parsing: """
                ferry transcript 1
                service: gateway
                0 1> bytes 01 0000000a 00000000 0003 c0ffee 0002 7b7d
                1 1< bytes 0808 0000000a
                2 1> bytes 01
                3 1> bytes 0000000b00000000000000000708
                """
        ).annotated()
        #expect(
            transcript.events.map(\.comment) == [
                "notification, command 1, identifier 10, expiration 0, a token of 3 bytes, a payload of 2 bytes",
                "error response, identifier 10, status 8 (invalid token)",
                "1 bytes of a message that goes on",
                "notification, command 1, identifier 11, expiration 0, a token of 0 bytes, a payload of 0 bytes",
                "2 bytes that are no message",
            ]
        )
    }

    @Test func `an event of a program before the beginning is written at the beginning`() throws {
        let early = Transcript(events: [Transcript.Event(.milliseconds(-500), .client, .open)])
        #expect(try Transcript(parsing: early.text).events.map(\.time) == [.zero])
    }
}
