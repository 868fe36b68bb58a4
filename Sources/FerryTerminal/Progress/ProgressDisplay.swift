/// The way in which progress is shown on standard error.
package enum ProgressDisplay: Sendable {
    /// One line of a terminal, which is replaced.
    case terminal
    /// A line every 30 s, for a file or a log.
    case lines

    private var interval: Duration {
        switch self {
        case .terminal: .milliseconds(250)
        case .lines: .seconds(30)
        }
    }

    /// Returns nil if standard error is not a terminal, and no lines are wanted.
    ///
    /// - Parameter wantsLines: whether to show lines if standard error is not a terminal.
    package init?(wantsLines: Bool) {
        if Console.isTerminal {
            self = .terminal
        } else if wantsLines {
            self = .lines
        } else {
            return nil
        }
    }

    /// Begins to show a progress.
    ///
    /// - Parameter progress: returns the present progress; nil if nothing can be shown yet.
    package func show(_ progress: @escaping @Sendable () async -> WorkProgress?) -> ShownProgress {
        let task = Task {
            var line = ProgressLine(at: .now)
            while (try? await Task.sleep(for: self.interval)) != nil {
                guard let progress = await progress() else { continue }
                switch self {
                case .terminal: Console.status(line.bar(progress, at: .now))
                case .lines: Console.error("ferry: \(line.sentence(progress, at: .now))")
                }
            }
        }
        return ShownProgress(display: self, task: task)
    }
}

/// A progress that is being shown.
package struct ShownProgress: Sendable {
    fileprivate let display: ProgressDisplay
    fileprivate let task: Task<Void, Never>

    /// Ends the display, and removes the line of a terminal.
    package func end() async {
        self.task.cancel()
        await self.task.value
        if case .terminal = self.display { Console.status("") }
    }
}
