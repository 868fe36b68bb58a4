internal import FerryAdmin
internal import FerryCore
internal import FerryTerminal
internal import FerryWorker

/// The events of the worker's log, beside ``ServerLogEvent``.
enum WorkerLogEvent: String, CaseIterable {
    case postgresAlarm, postgresAlarmOver
    case clientAlarm, clientAlarmOver
    case queueAlarm, queueAlarmOver
    case stopped
}

/// The messages of a worker, whose alarms are kept for operators. Any thread.
struct WorkerMessages: Sendable {
    let alarms = RecentAlarms()

    /// Notes a message, and writes it.
    @Sendable func write(_ message: LogMessage) {
        if message.mark == .alarm { self.alarms.add(.now(message.sentence)) }
        MessageWriter.shared.write(message)
    }

    func say(_ event: QueueWorker.Event) {
        switch event {
        case .postgresLost(let reason):
            self.write(.alarm(WorkerLogEvent.postgresAlarm, "a session has ended: \(reason)", [.reason: .text(reason)]))
        case .postgresBack:
            self.write(LogMessage(WorkerLogEvent.postgresAlarmOver, .notice, "PostgreSQL takes outcomes again"))
        case .held(let client, let cause):
            let words =
                switch cause {
                case .refused(nil): "APNs refuses its credentials"
                case .refused(let reason?): "APNs refuses its credentials or topic (\(reason.rawValue.printable))"
                case .unreachable: "there is no connection to APNs"
                case .unanswered: "APNs does not answer"
                }
            self.write(
                .alarm(
                    WorkerLogEvent.clientAlarm,
                    "the rows of '\(client.printable)' wait: \(words); one a second is tried",
                    [.client: .text(client), .reason: .text(words)]
                )
            )
        case .released(let client):
            self.write(
                LogMessage(
                    WorkerLogEvent.clientAlarmOver,
                    .notice,
                    "the rows of '\(client.printable)' are delivered again",
                    [.client: .text(client)]
                )
            )
        case .late(let seconds):
            self.write(
                .alarm(
                    WorkerLogEvent.queueAlarm,
                    "the first row of the queue has been due for \(seconds) s",
                    [.seconds: .number(seconds)]
                )
            )
        case .inTime:
            self.write(
                LogMessage(WorkerLogEvent.queueAlarmOver, .notice, "the queue is delivered within a minute again")
            )
        }
    }

    func sayEnd(_ figures: QueueWorker.Figures) {
        let counts = RowFate.Word.allCases.map { "\(figures.outcomes[$0] ?? 0) \($0.rawValue)" }
        self.write(
            LogMessage(
                WorkerLogEvent.stopped,
                .notice,
                "stopped: \(counts.joined(separator: ", "))",
                [
                    .accepted: .number(figures.outcomes[.accepted] ?? 0),
                    .rejected: .number(figures.outcomes[.rejected] ?? 0),
                ]
            )
        )
    }
}
