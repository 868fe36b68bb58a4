internal import FerryCore
internal import FerryPlatform
internal import FerryTerminal

/// The live screen of `top`, until q or a signal.
enum TopScreen {
    /// The lines of a screen, each cut to the columns of a terminal.
    static func cut(_ screen: String, lines: Int, columns: Int) -> String {
        screen.split(separator: "\n", omittingEmptySubsequences: false).prefix(lines)
            .map { $0.count <= columns ? String($0) : $0.prefix(columns - 1) + "…" }
            .joined(separator: "\n")
    }

    /// - Parameters:
    ///   - command: the command for other places than a terminal.
    ///   - screen: asks for the status, and returns its lines.
    static func run(insteadOf command: String, _ screen: () async throws -> String) async throws {
        guard isatty(STDOUT_FILENO) == 1 else {
            throw CommandFailure.usage("'top' draws on a terminal: use '\(command)', also with --json.")
        }
        // Its failure is a sentence, and must not vanish with the screen.
        var text = try await screen()
        let isEnded = Locked(false)
        let signals = Signals { _ in isEnded.withLock { $0 = true } }
        let terminal = TerminalScreen()
        defer {
            terminal.end()
            withExtendedLifetime(signals) {}
        }
        var fault: String?
        while !isEnded.withLock({ $0 }) {
            let size = terminal.size
            let head = fault.map { "\($0.printable)\n" } ?? ""
            terminal.draw(self.cut(head + text, lines: size.lines - 1, columns: size.columns))
            let next = ContinuousClock.now + .seconds(1)
            while ContinuousClock.now < next, !isEnded.withLock({ $0 }) {
                // A short wait, so that a signal is answered at once.
                if terminal.key(within: 100) == "q" { return }
            }
            do {
                text = try await screen()
                fault = nil
            } catch {
                fault = "No answer now: \((error as? CommandFailure)?.message ?? Sentence.of(error))"
            }
        }
    }
}
