internal import ArgumentParser
internal import FerryAdmin
internal import FerryCore
internal import FerryHTTP1
internal import FerryPlatform
internal import FerryTerminal

/// A status that the commands `status` and `top` show.
protocol ShownStatus: ServerStatus {
    static var server: AdministeredServer { get }
    /// The lines of the server's own figures, below the condition and its troubles.
    var lines: [String] { get }
}

extension ShownStatus {
    /// One screen of a terminal.
    var screen: String {
        let head = "ferry \(Self.server.rawValue) \(self.ferry), since \(self.runTime)"
        var lines = ["\(head): \(self.condition.level.word)", self.condition.sentence]
        for trouble in self.troubles.dropFirst().prefix(3) { lines.append(trouble.sentence) }
        lines += [""] + self.lines
        if let alarm = self.alarms.last {
            lines += ["", "last alarm, \(StatusWords.ago(alarm.at, now: self.now)): \(alarm.sentence)"]
        }
        return lines.joined(separator: "\n")
    }

    /// The time since the start. If the clock was set back since then, it is "0 s".
    private var runTime: String {
        let seconds = max(self.now - self.startedAt, 0)
        return seconds == 0 ? "0 s" : StatusWords.duration(Double(seconds))
    }
}

extension AdminClient {
    /// Returns the status of a server, and its text.
    ///
    /// - Throws: ``CommandFailure`` with ``ShownStatus/exitStatusWithoutAnswer`` if no status comes.
    func status<Status: ShownStatus>() async throws(CommandFailure) -> (Status, String) {
        let server = Status.server
        let response: HTTPClientResponse
        do throws(HTTPClientError) {
            response = try await self.get("/status")
        } catch {
            throw CommandFailure(
                Status.exitStatusWithoutAnswer,
                "The \(server.word) does not answer: \(error.description)"
            )
        }
        let text = String(decoding: response.body, as: UTF8.self)
        guard response.status == 200 else {
            throw CommandFailure(
                Status.exitStatusWithoutAnswer,
                "The \(server.word) answers with status \(response.status): \(String(text.prefix { $0 != "\n" }).printable)"
            )
        }
        do {
            return (try JSONDecoder().decode(Status.self, from: Data(response.body)), text)
        } catch {
            throw CommandFailure(
                Status.exitStatusWithoutAnswer,
                "The answer is no status of a \(server.word) of this version: use the 'ferry' that it was started with."
            )
        }
    }

    /// Prints the status of a server, and returns it.
    func print<Status: ShownStatus>(_: Status.Type, json: Bool) async throws -> Status {
        let (status, text): (Status, String) = try await self.status()
        try Console.printList(json ? text : status.screen)
        return status
    }

    /// Shows the status of a server, live.
    func showLive<Status: ShownStatus>(_: Status.Type) async throws {
        try await TopScreen.run(insteadOf: "ferry \(Status.server.rawValue) status") {
            let (status, _): (Status, String) = try await self.status()
            return status.screen
        }
    }
}

extension AdministeredServer {
    /// The command that shows the status once.
    var statusCommand: CommandConfiguration {
        CommandConfiguration(
            commandName: "status",
            abstract: "Shows how a \(self.word) that runs is.",
            discussion: """
                Asks the admin service of the \(self.word): over its socket, as the user that runs it, or over its port.

                \(self.statusExitHelp)

                Examples:
                  ferry \(self.rawValue) status \(self.place)
                  ferry \(self.rawValue) status --socket /run/ferry-\(self.rawValue)/\(self.socketName) --json
                """
        )
    }

    /// The command that shows the status live.
    var topCommand: CommandConfiguration {
        CommandConfiguration(
            commandName: "top",
            abstract: "Shows a \(self.word) that runs, live, until q or Control-C.",
            discussion: """
                Asks the admin service of the \(self.word) once a second, as 'ferry \(self.rawValue) status' does once.

                Example:
                  ferry \(self.rawValue) top \(self.place)
                """
        )
    }
}
