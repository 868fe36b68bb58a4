package import FerryCore

extension QueueWorker {
    package struct Configuration: Sendable {
        /// A connection string of libpq.
        package var postgres: String
        package var clients: [WorkerClient]
        /// The number of connections that take rows, at least 1. Each connection has one batch at a time.
        package var connections = 8
        /// The largest number of rows of a batch.
        package var batch = 500
        /// How long outcomes are kept, in whole seconds.
        package var keep: Duration = .seconds(7 * 86_400)
        /// Whether the outcomes of accepted rows are kept. If not, the key of an accepted row is forgotten with the
        /// row.
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
        /// The rows of a client are left alone, for this cause.
        case held(client: String, HeldClients.Cause)
        case released(client: String)
        /// The oldest row that is due has been due for more than a minute.
        case late(seconds: Int)
        case inTime
    }

    package struct Figures: Hashable, Sendable {
        /// The number of outcomes, by their word. Accepted rows count even if their outcomes are not kept.
        package var outcomes: [RowFate.Word: Int] = [:]
        /// The number of attempts after which a row stayed in the queue, with a higher `attempts`.
        package var retries = 0
        /// The times from the answer to the select of a batch to the start of its write.
        package var batches = TimeHistogram()
        /// The clients whose rows are left alone.
        package var held: [String] = []
        /// False from the time when a connection loses its session until a transaction of some connection ends
        /// without an error.
        package var hasPostgres = true
        /// The number of rows that were sent and have no answer.
        package var unanswered = 0
        /// The state of the queue at the last look; nil before the first.
        package var queue: Queue?

        package struct Queue: Hashable, Sendable {
            /// The number of rows that are due, 100,000 at most.
            package var depth: Int
            /// How long the oldest of these rows has been due; zero if there is none.
            package var age: Duration
            /// How long the oldest open transaction of the database has been open; zero if there is none.
            package var oldestTransaction: Duration
        }
    }
}
