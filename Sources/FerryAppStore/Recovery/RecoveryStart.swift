internal import FerryPlatform

/// Decides where a recovery begins: at an incomplete checkpoint, or at the start of a new window. Without I/O.
struct RecoveryStart {
    /// The time by which a window overlaps the window before it, in seconds. Without the overlap, a notification that
    /// enters the history late would be missed. A notification that comes twice is recognized.
    static let overlap: TimeInterval = 10 * 60

    var bundleID: String
    var environment: AppStoreEnvironment
    var onlyFailures: Bool

    /// Returns the checkpoint that the recovery begins with: `checkpoint` if it is incomplete, or else a new
    /// checkpoint.
    ///
    /// - Parameters:
    ///   - from: the start of the period; nil for the end of the earlier recovery, less ``overlap``. With an
    ///     incomplete checkpoint, it must be nil or the start of that checkpoint.
    ///   - to: the end of the period; nil for now. An incomplete checkpoint keeps its own end.
    ///   - checkpoint: the checkpoint of an earlier recovery.
    func checkpoint(
        from: Date?,
        to: Date?,
        after checkpoint: RecoveryCheckpoint?,
        now: Date
    ) throws(AppStoreRecoveryError) -> RecoveryCheckpoint {
        if let checkpoint {
            try self.check(checkpoint)
            guard checkpoint.isComplete else {
                guard from == nil || from?.milliseconds == checkpoint.asked else {
                    throw AppStoreRecoveryError(
                        .otherCheckpoint,
                        "The checkpoint is of a recovery with another beginning, which is not complete. Go on with that one "
                            + "(leave the beginning out), or remove the checkpoint.",
                        report: checkpoint.report
                    )
                }
                return checkpoint
            }
        }
        let follows = checkpoint.map { Date(milliseconds: $0.to) - Self.overlap }
        guard let start = from ?? follows else {
            throw AppStoreRecoveryError(
                .noStart,
                "The recovery has no beginning: there is no checkpoint yet, so give a time."
            )
        }
        let end = min(to ?? now, now).milliseconds
        guard start.milliseconds < end else {
            throw AppStoreRecoveryError(
                .emptyWindow,
                "The recovery's beginning does not lie before its end, or not before now."
            )
        }
        let reachable = RecoveryMachine.reachable(start.milliseconds, self.environment, now: now)
        guard reachable < end else {
            throw AppStoreRecoveryError(
                .emptyWindow,
                "Apple no longer has notifications of that time: it keeps them for 180 days in production and 30 in the "
                    + "sandbox."
            )
        }
        return RecoveryCheckpoint(
            bundleId: self.bundleID,
            environment: self.environment.rawValue,
            onlyFailures: self.onlyFailures,
            asked: start.milliseconds,
            from: reachable,
            to: end
        )
    }

    private func check(_ checkpoint: RecoveryCheckpoint) throws(AppStoreRecoveryError) {
        let isOurs =
            checkpoint.bundleId == self.bundleID && checkpoint.environment == self.environment.rawValue
            && checkpoint.onlyFailures == self.onlyFailures
        guard isOurs else {
            throw AppStoreRecoveryError(
                .otherCheckpoint,
                "The checkpoint is of a recovery for another app, environment or choice of notifications. Name another file."
            )
        }
    }
}
