package import FerryCore

extension QueueWorker {
    package struct Configuration: Sendable {
        /// A connection string of libpq.
        package var postgres: String
        package var clients: [WorkerClient]
        /// The connections that take rows. Each has one batch at a time.
        package var connections = 8
        /// The largest number of rows of a batch.
        package var batch = 500
        /// How long outcomes are kept.
        package var keep: Duration = .seconds(7 * 86_400)
        /// Whether the outcomes of accepted rows are kept. If not, a key is forgotten with its row.
        package var keepsAccepted = true
        /// Called on the worker's event loop.
        package var onEvent: @Sendable (Event) -> Void = { _ in }

        package init(postgres: String, clients: [WorkerClient]) {
            self.postgres = postgres
            self.clients = clients
        }
    }

    /// Something that an operator should know.
    package enum Event: Hashable, Sendable {
        /// A session has ended, for the reason in this sentence.
        case postgresLost(String)
        case postgresBack
        /// The rows of a client wait.
        case held(client: String, HeldClients.Cause)
        case released(client: String)
        /// The oldest row that is due waits for longer than a minute.
        case late(seconds: Int)
        case inTime
    }

    package struct Figures: Hashable, Sendable {
        /// The outcomes that were written, by their word.
        package var outcomes: [RowFate.Word: Int] = [:]
        /// The attempts after which a row stayed in the queue.
        package var retries = 0
        /// The times from the select of a batch to its write.
        package var batches = TimeHistogram()
        /// The clients whose rows are left alone.
        package var held: [String] = []
        /// False from the end of any connection's session until the next commit of any connection.
        package var hasPostgres = true
        /// The rows that were sent and have no answer.
        package var unanswered = 0
        /// The state of the queue at the last look; nil before the first.
        package var queue: Queue?

        package struct Queue: Hashable, Sendable {
            /// The number of rows that are due, 100,000 at most.
            package var depth: Int
            /// How long the first of them has been due.
            package var age: Duration
            /// How long the oldest transaction of the database is open.
            package var oldestTransaction: Duration
        }
    }
}
