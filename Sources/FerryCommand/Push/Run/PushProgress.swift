internal import Ferry
internal import FerryTerminal

/// The progress line of a run on a terminal.
enum PushProgress {
    private static let interval: Duration = .milliseconds(250)

    /// Shows the line until the task is cancelled, then removes it.
    static func task(_ provider: any PushProvider, _ watch: PushWatch) -> Task<Void, Never> {
        Task {
            var last = (time: ContinuousClock.now, settled: 0)
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.interval)
                let outcomes = provider.counts
                let now = ContinuousClock.now
                let rate = Double(outcomes.settled - last.settled) / ((now - last.time) / .seconds(1))
                last = (now, outcomes.settled)
                let window = watch.window.map { "  window \($0)" } ?? ""
                Console.status(
                    "\(Int(rate)) a second  settled \(outcomes.settled)  rejected \(outcomes.rejected)\(window)"
                )
            }
            Console.status("")
        }
    }
}
