internal import Ferry
internal import FerryTerminal

/// The progress of a run.
struct PushProgress: Sendable {
    let provider: any PushProvider
    let watch: PushWatch
    let position: FeedPosition

    var now: WorkProgress {
        let outcomes = self.provider.counts
        return WorkProgress(
            fraction: self.position.fraction(settled: outcomes.settled),
            count: outcomes.settled,
            words: ["settled \(outcomes.settled)", "rejected \(outcomes.rejected)"]
                + (self.watch.window.map { ["window \($0)"] } ?? [])
        )
    }
}
