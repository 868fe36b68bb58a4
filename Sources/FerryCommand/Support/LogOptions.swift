internal import ArgumentParser
internal import FerryTerminal

/// Options for the messages of a server on standard error.
struct LogOptions: ParsableArguments {
    @Option(help: "The form of messages on standard error: text for people, or JSON lines for programs.")
    var logFormat = LogPolicy.Format.text

    @Option(help: "The lowest level of messages that appear; debug adds each step of the connections to APNs.")
    var logLevel = LogMessage.Level.info

    /// Makes these options the policy of the process.
    func apply() {
        LogPolicy.current = LogPolicy(
            format: self.logFormat,
            level: self.logLevel,
            isJournal: JournalStream.isStandardError
        )
    }
}

extension LogPolicy.Format: ExpressibleByArgument {}
extension LogMessage.Level: ExpressibleByArgument {}
