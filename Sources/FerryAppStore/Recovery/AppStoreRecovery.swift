internal import FerryCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Brings back notifications from Apple's history: those that no server took, or all.
///
/// ```swift
/// let recovery = AppStoreRecovery(client: client, sink: store)
/// let report = try await recovery.run(from: .now - 86_400)
/// ```
///
/// Apple itself tries again for 157 hours in production, and not at all in the sandbox. The report tells how many of the
/// missed notifications would have come anyhow. A notification of the history is what Apple first sent; its `signedDate`
/// tells it from newer ones.
public struct AppStoreRecovery: Sendable {
    private let client: AppStoreServerClient
    private let sink: any AppStoreNotificationSink
    /// The file that makes a recovery go on after it was stopped; nil: it begins anew.
    public var checkpoint: String?
    /// Whether only notifications are wanted that no server has taken. Otherwise all are, for example after a loss of the
    /// store.
    public var onlyFailures = true
    /// Called after each page.
    public var progress: (@Sendable (AppStoreRecoveryReport) -> Void)?

    /// The attempts to give a notification to the sink, or to verify it, before the recovery stops.
    static let attempts = 4

    /// Makes a recovery. Nothing is read before ``run(from:to:)``.
    ///
    /// - Parameters:
    ///   - client: asks Apple. Its app and environment are those of the recovery.
    ///   - sink: takes the notifications, for example an ``AppStoreStore``.
    ///   - checkpoint: the path of the file that keeps its place. Nil: a stopped recovery begins anew.
    public init(client: AppStoreServerClient, sink: any AppStoreNotificationSink, checkpoint: String? = nil) {
        self.client = client
        self.sink = sink
        self.checkpoint = checkpoint
    }

    /// Reads the history of a time, page by page, and gives each notification to the sink.
    ///
    /// Without a beginning it goes on where the checkpoint is: within its window, or from its end until now.
    ///
    /// - Parameters:
    ///   - from: the first moment; nil: where the checkpoint is.
    ///   - to: the end; nil: now. A recovery that goes on at its checkpoint keeps the end that it has.
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
        // A file that cannot be written is an error before anything is fetched.
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

    /// Verifies again what could not be judged with the page.
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
