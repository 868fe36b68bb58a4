internal import FerryAdmin
internal import FerryPlatform

/// The result of a reload: the answer to `POST /reload`, as JSON. It is documented in Docs/commands/gateway.md.
package struct ReloadAnswer: Hashable, Codable, Sendable {
    /// The number of notifications that a removed client has left.
    package struct Left: Hashable, Codable, Sendable {
        package var client: String
        package var notifications: Int

        package init(client: String, notifications: Int) {
            self.client = client
            self.notifications = notifications
        }
    }

    /// Whether the configuration was taken. If not, nothing has changed.
    package var isTaken: Bool
    /// A short text about the change, or about the reason why nothing changed.
    package var sentence: String
    /// The change; nil if the configuration was not taken.
    package var change: GatewayChange?
    /// The number of connections that end because the configuration does not allow them.
    package var endedConnections: Int
    package var left: [Left]
    /// Warnings about the configuration.
    package var warnings: [String]

    package init(
        isTaken: Bool,
        _ sentence: String,
        change: GatewayChange? = nil,
        endedConnections: Int = 0,
        left: [Left] = [],
        warnings: [String] = []
    ) {
        self.isTaken = isTaken
        self.sentence = sentence
        self.change = change
        self.endedConnections = endedConnections
        self.left = left
        self.warnings = warnings
    }

    var adminAnswer: AdminAnswer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var answer = AdminAnswer(json: (try? encoder.encode(self)).map { Array($0) } ?? [])
        // Status 409 (Conflict) says that the present configuration stays, for whatever reason.
        answer.status = self.isTaken ? 200 : 409
        return answer
    }
}
