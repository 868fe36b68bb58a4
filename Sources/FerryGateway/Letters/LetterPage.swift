internal import FerryCore

/// A page of the answer to `GET /letters`.
package struct LetterPage: Hashable, Codable, Sendable {
    package var letters: [LetterRow]
    /// The value of `after` for the next page; nil on the last page.
    package var next: String?
}

/// A letter, for operators. The payload is nil in a list, and present in the answer for one letter.
package struct LetterRow: Hashable, Codable, Sendable {
    package var apnsID: String
    package var client: String
    /// The name of the upstream, if a listener names it; nil for the client's own upstream.
    package var upstream: String?
    package var topic: String
    package var reason: String
    /// When the notification became a letter, in UNIX seconds.
    package var endedAt: UInt32
    /// When the notification was read, or last sent again by an operator, in UNIX seconds.
    package var readAt: UInt32
    /// The expiration in UNIX seconds; 0 for one attempt at delivery.
    package var expiration: UInt32
    package var mayHaveArrived: Bool
    package var attempts: UInt16
    package var token: String
    package var payload: String?

    /// The keys, with `apnsId` as in all other JSON of Ferry.
    private enum CodingKeys: String, CodingKey {
        case apnsID = "apnsId"
        case client, upstream, topic, reason, endedAt, readAt, expiration, mayHaveArrived, attempts, token, payload
    }

    package init(_ letter: Letter, withPayload: Bool) {
        self.apnsID = letter.apnsID.description
        (self.client, self.upstream) = ClientIdentity.parts(ofStoreName: letter.client)
        self.topic = letter.topic
        self.reason = letter.reason.rawValue
        self.endedAt = letter.endedAt
        self.readAt = letter.readAt
        self.expiration = letter.expiration
        self.mayHaveArrived = letter.mayHaveArrived
        self.attempts = letter.attempts
        self.token = letter.token.hexadecimal
        self.payload = withPayload ? String(decoding: letter.payload, as: UTF8.self) : nil
    }
}

/// The letters that an operator asks for.
package struct LetterFilter: Hashable, Sendable {
    package var client: String?
    package var reason: String?
    /// The time before which the notifications became letters, in UNIX seconds.
    package var endedBefore: UInt32?

    package init(client: String? = nil, reason: String? = nil, endedBefore: UInt32? = nil) {
        self.client = client
        self.reason = reason
        self.endedBefore = endedBefore
    }

    func admits(_ letter: Letter) -> Bool {
        (self.client.map { $0 == ClientIdentity.parts(ofStoreName: letter.client).name } ?? true)
            && (self.reason.map { $0 == letter.reason.rawValue } ?? true)
            && (self.endedBefore.map { letter.endedAt < $0 } ?? true)
    }
}
