internal import FerryCore
internal import FerryPostgres
internal import NIOCore

/// The care of the queue, on a session of its own: it removes old outcomes in small steps, and counts the due rows.
///
/// `@unchecked Sendable`: everything is used on the worker's event loop only.
final class QueueCare: @unchecked Sendable {
    private static let interval: TimeAmount = .seconds(10)
    /// The number of outcomes that ``WorkerSQL/forget`` removes at most.
    private static let step = 5000
    /// The pause between two steps while old outcomes are left.
    private static let stepPause: TimeAmount = .milliseconds(100)
    private static let limit: Duration = .seconds(60)

    private let worker: QueueWorker
    private var session: PostgresSession?
    private var timer: Scheduled<Void>?

    init(of worker: QueueWorker) { self.worker = worker }

    func begin() { self.look() }

    func stop() {
        self.timer?.cancel()
        self.timer = nil
        self.session?.close()
        self.session = nil
    }

    private func send(_ statement: PostgresStatement, then: @escaping @Sendable (PostgresRows) -> Void) {
        let session =
            self.session ?? PostgresSession(PostgresSettings(self.worker.configuration.postgres, name: "ferry worker"))
        self.session = session
        session.send(statement, within: Self.limit) { answer in
            self.worker.eventLoop.execute {
                guard self.session === session else { return }
                switch answer {
                case .success(let rows): then(rows)
                case .failure:
                    // If the server is lost, the sessions of the ``WorkerConnection``s end, too, and those report it.
                    // So no error is reported here.
                    session.close()
                    self.session = nil
                    self.wait(Self.interval) { self.look() }
                }
            }
        }
    }

    private func wait(_ time: TimeAmount, then: @escaping () -> Void) {
        self.timer = self.worker.eventLoop.assumeIsolated().scheduleTask(in: time, then)
    }

    private func look() {
        self.send(PostgresStatement(WorkerSQL.look)) { rows in
            func time(_ column: Int) -> Duration { .milliseconds(rows.integer(0, column) ?? 0) }
            self.worker.note(.init(depth: Int(rows.integer(0, 0) ?? 0), age: time(1), oldestTransaction: time(2)))
            self.forget()
        }
    }

    private func forget() {
        let seconds = self.worker.configuration.keep.components.seconds
        self.send(PostgresStatement(WorkerSQL.forget, [.integer(seconds)])) { rows in
            if rows.changed > 0 {
                // No pause follows a full step: a worker may write outcomes faster than steps with pauses remove them.
                self.wait(rows.changed < Self.step ? Self.stepPause : .zero) { self.forget() }
            } else {
                self.wait(Self.interval) { self.look() }
            }
        }
    }
}
