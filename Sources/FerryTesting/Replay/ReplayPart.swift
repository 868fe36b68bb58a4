/// One connection of a transcript, prepared for the replay of one side.
package struct ReplayPart: Sendable {
    /// A message that the peer must send.
    struct Expected: Sendable {
        var message: WireMessage
        /// The index of the event that completes the message.
        var event: Int
    }

    let connection: Int
    let side: Transcript.Side
    let service: Transcript.Service
    let events: [Transcript.Event]
    /// The messages that the peer must send, in order.
    let expected: [Expected]
    /// The peer's last message, if the transcript has only its beginning.
    let expectedPartial: WireMessage

    init(_ connection: Int, _ events: [Transcript.Event], service: Transcript.Service, playing side: Transcript.Side) {
        self.connection = connection
        self.side = side
        self.service = service
        self.events = events
        var reader = WireMessageReader(service, sentBy: side.peer)
        var expected: [Expected] = []
        for (index, event) in events.enumerated() where event.sender == side.peer {
            guard case .bytes(let bytes) = event.kind else { continue }
            for byte in bytes {
                if let message = reader.next(byte) { expected.append(Expected(message: message, event: index)) }
            }
        }
        self.expected = expected
        self.expectedPartial = reader.partial
    }
}

extension Transcript {
    /// Returns all connections by their numbers, prepared for the replay of one side.
    package func parts(playing side: Side) -> [Int: ReplayPart] {
        let events = Dictionary(grouping: self.events, by: \.connection)
        return Dictionary(
            uniqueKeysWithValues: events.map { connection, events in
                (connection, ReplayPart(connection, events, service: self.service, playing: side))
            }
        )
    }
}
