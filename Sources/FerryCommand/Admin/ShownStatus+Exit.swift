internal import FerryAdmin
internal import FerryTerminal

/// The exit status of `ferry gateway status` and `ferry appstore status`.
extension ShownStatus {
    /// The exit status after the status was printed: 0 if the server is well, 1 if there is trouble.
    var exitStatus: ExitStatus { self.condition.level == .well ? .success : .notAllAccepted }

    /// The exit status if nobody answers, or the answer is no status: 3.
    static var exitStatusWithoutAnswer: ExitStatus { .noConnection }
}

extension AdministeredServer {
    /// The sentence of the help about the exit status.
    var statusExitHelp: String {
        "The exit status is 0 if the \(self.word) is well, 1 if there is trouble, and 3 if nobody answers."
    }
}
