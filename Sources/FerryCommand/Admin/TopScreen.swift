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
    ///   - command: the command to use if standard output is no terminal.
    ///   - screen: asks for the status, and returns its lines.
    static func run(insteadOf command: String, _ screen: @escaping @Sendable () async throws -> String) async throws {
        guard isatty(STDOUT_FILENO) == 1 else {
            throw CommandFailure.usage("'top' draws on a terminal: use '\(command)', also with --json.")
        }
        // The first request comes before the screen, so that the sentence of its failure stays visible.
        var text = try await screen()
        let isEnded = Locked(false)
        let signals = Signals { _ in isEnded.withLock { $0 = true } }
        let terminal = TerminalScreen()
        defer {
            terminal.end()
            withExtendedLifetime(signals) {}
        }
        var fault: String?
        var asking: Task<Void, Never>?
        defer { asking?.cancel() }
        while true {
            let size = terminal.size
            let head = fault.map { "\($0.printable)\n" } ?? ""
            terminal.draw(self.cut(head + text, lines: size.lines - 1, columns: size.columns))
            let answer = Locked<Result<String, any Error>?>(nil)
            // The request runs beside the wait for keys, because a gateway that hangs must not delay the end.
            asking = Task {
                try? await Task.sleep(for: .seconds(1))
                do {
                    let next = try await screen()
                    answer.withLock { $0 = .success(next) }
                } catch {
                    answer.withLock { $0 = .failure(error) }
                }
            }
            var result: Result<String, any Error>?
            while result == nil {
                // A short wait, so that a signal is answered at once.
                let key = terminal.key(within: 100)
                if isEnded.withLock({ $0 }) { return }
                if let key, self.isEnd(key) { return }
                // The wait for a key blocks a thread, and the request may need this one.
                await Task.yield()
                result = answer.withLock { $0 }
            }
            switch result {
            case .success(let next)?:
                text = next
                fault = nil
            case .failure(let error)?:
                fault = "No answer now: \((error as? CommandFailure)?.message ?? Sentence.of(error))"
            case nil: break
            }
        }
    }

    /// Whether a key ends the screen: q, Control-C or Control-\.
    static func isEnd(_ key: Character) -> Bool { key == "q" || key == "\u{03}" || key == "\u{1c}" }
}
