internal import FerryCore
public import FerryPlatform

/// A recovery of notifications from Apple's history: all of them, or those that no server has accepted.
///
/// ```swift
/// let recovery = AppStoreRecovery(client: client, sink: store)
/// let report = try await recovery.run(from: .now - 86_400)
/// ```
///
/// In production, Apple itself repeats a notification for up to 157 hours. In the sandbox, Apple repeats no
/// notification. The report says how many of the missed notifications Apple would still have repeated. The history
/// has each notification with its first `signedDate`. So a recovered notification is recognized as older than a
/// notification that came after it.
public struct AppStoreRecovery: Sendable {
    private let client: AppStoreServerClient
    private let sink: any AppStoreNotificationSink
    /// The path of the file with the position in the history. A stopped recovery goes on from there. If nil, each
    /// recovery begins at the start of its period.
    public var checkpoint: String?
    /// Whether to recover only notifications that no server has accepted. For example, set it to false after a loss of
    /// the store.
    public var onlyFailures = true
    /// A function that gets the report so far after each page. The recovery waits until the function returns.
    public var progress: (@Sendable (AppStoreRecoveryReport) -> Void)?

    /// The number of attempts to verify a notification or to give it to the sink, before the recovery stops.
    static let attempts = 4

    /// Makes a recovery. Nothing is read before ``run(from:to:)``.
    ///
    /// - Parameters:
    ///   - client: the client of Apple's server. The recovery is for the app and environment of the client.
    ///   - sink: the receiver of the notifications, for example an ``AppStoreStore``.
    ///   - checkpoint: the path of the file with the position in the history. If nil, each recovery begins at the
    ///     start of its period.
    public init(client: AppStoreServerClient, sink: any AppStoreNotificationSink, checkpoint: String? = nil) {
        self.client = client
        self.sink = sink
        self.checkpoint = checkpoint
    }

    /// Reads the history of a period page by page, and gives each verified notification to the sink.
    ///
    /// Without `from`, the recovery goes on at the checkpoint. If the window of the checkpoint is incomplete, the
    /// recovery completes that window. Otherwise the new window begins 10 minutes before the end of the last window.
    ///
    /// - Parameters:
    ///   - from: the start of the period; nil to go on at the checkpoint. If the window of the checkpoint is
    ///     incomplete, `from` must be nil or the same start.
    ///   - to: the end of the period; nil for now. A later time counts as now. A recovery that goes on inside a
    ///     window keeps the end of that window.
    public func run(
        from: Date? = nil,
        to: Date? = nil
    ) async throws(AppStoreRecoveryError) -> AppStoreRecoveryReport {
        let file = self.checkpoint.map(CheckpointFile.init(path:))
        let start = RecoveryStart(
            bundleID: self.client.bundleID,
            environment: self.client.environment,
            onlyFailures: self.onlyFailures
        )
        let checkpoint = try start.checkpoint(from: from, to: to, after: try file?.read(), now: self.client.now)
        var machine = RecoveryMachine(checkpoint)
        // The file is written first, so that an unwritable file is an error before anything is fetched.
        try file?.write(checkpoint)
        var action = machine.next
        while case .ask(let query, let page) = action {
            let answer: AppStoreHistoryPage
            do throws(AppStoreServerError) {
                answer = try await self.client.notificationHistory(query, page: page)
            } catch {
                action = machine.refused(error.code, now: self.client.now)
                guard case .ask = action else { throw self.stopped(by: error, machine.checkpoint.report) }
                try file?.write(machine.checkpoint)
                continue
            }
            machine.received(next: answer.nextPage)
            let before = machine.checkpoint.report
            for item in answer.items {
                machine.handled(try await self.outcome(item, before))
            }
            machine.pageHandled()
            try file?.write(machine.checkpoint)
            self.progress?(machine.checkpoint.report)
            action = machine.next
        }
        return machine.checkpoint.report
    }

    private func outcome(
        _ item: AppStoreHistoryItem,
        _ report: AppStoreRecoveryReport
    ) async throws(AppStoreRecoveryError) -> RecoveryMachine.Outcome {
        let notification: AppStoreNotification
        switch try await self.verified(item, report) {
        case .success(let verified): notification = verified
        case .failure(let error): return .setAside(error)
        }
        var reason = ""
        for attempt in 0..<Self.attempts {
            if attempt > 0 { try await self.pause(attempt, report) }
            switch await self.sink.take(notification, signedPayload: item.signedPayload) {
            case .stored:
                let schedule = RetrySchedule(
                    version: notification.version.rawValue,
                    environment: notification.environment
                )
                let isStillComing = RecoveryMachine.isStillComing(
                    item.attempts,
                    signed: notification.signedDate,
                    schedule: schedule,
                    now: self.client.now
                )
                return .stored(isStillComing: isStillComing)
            case .duplicate:
                return .duplicate
            case .refused(let error):
                return .setAside(error)
            case .failed(let words):
                reason = words
            }
        }
        throw AppStoreRecoveryError(
            .sinkFailed,
            "The notifications cannot be kept: \(reason.printable)",
            report: report
        )
    }

    /// Returns the result of the verification. If the result is `tryAgain`, the notification is verified again after
    /// a pause. After 4 such results, the recovery stops with `notVerifiable`.
    private func verified(
        _ item: AppStoreHistoryItem,
        _ report: AppStoreRecoveryReport
    ) async throws(AppStoreRecoveryError) -> Result<AppStoreNotification, AppStoreVerificationError> {
        var result = item.notification
        for attempt in 1..<Self.attempts {
            guard case .failure(let error) = result, error.code == .tryAgain else { return result }
            try await self.pause(attempt, report)
            do {
                result = .success(try await self.client.verifier.verifyInvited(signedPayload: item.signedPayload))
            } catch {
                result = .failure(error)
            }
        }
        guard case .failure(let error) = result, error.code == .tryAgain else { return result }
        throw AppStoreRecoveryError(.notVerifiable, error.description, report: report, cause: error)
    }

    private func pause(_ attempt: Int, _ report: AppStoreRecoveryReport) async throws(AppStoreRecoveryError) {
        do {
            try await self.client.pause(RequestRetry.firstWait * (1 << attempt))
        } catch {
            throw self.stopped(by: error, report)
        }
    }

    private func stopped(by error: AppStoreServerError, _ report: AppStoreRecoveryReport) -> AppStoreRecoveryError {
        let code: AppStoreRecoveryError.Code = error.code == .cancelled ? .cancelled : .serverFailed
        return AppStoreRecoveryError(code, error.description, report: report, cause: error)
    }
}
