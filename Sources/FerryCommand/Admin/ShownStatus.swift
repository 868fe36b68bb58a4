internal import ArgumentParser
internal import FerryAdmin
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
    /// Prints the status of a server.
    ///
    /// - Throws: ``ExitStatus`` with `notAllAccepted` if the server is not well.
    func print<Status: ShownStatus>(_: Status.Type, json: Bool) async throws {
        let (status, text): (Status, String) = try await self.status()
        try Console.printList(json ? text : status.screen)
        guard status.condition.level == .well else { throw ExitStatus.notAllAccepted }
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

                The exit status is 0 if the \(self.word) is well, 1 if there is trouble, and 3 if nobody answers.

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
