package import FerryAdmin

/// The status of a receiver for operators: the answer to `GET /status`. The page and the commands show it, too.
///
/// The members are documented in Docs/commands/appstore.md. They contain no part of a notification.
package struct AppStoreStatus: ServerStatus, Hashable {
    /// The version of this document. The version grows when a member changes its meaning or is removed. It does not
    /// grow for a new member.
    package static let version = 1

    package var version = Self.version
    package var ferry: String
    /// The time of the status, in UNIX seconds.
    package var now: Int
    package var startedAt: Int
    package var condition = Condition(.well, "")
    /// The troubles, each as a short text: first those with the level `down`, then those with `trouble`.
    package var troubles: [Condition] = []
    package var ready = Health(isGood: true, "")
    package var delivering = Health(isGood: true, "")
    package var posts: Posts
    /// The posts per second: all, those answered with 200, and the others.
    package var rate: Rate
    /// The last hour in steps of ten seconds, the oldest first.
    package var history: [RateHistory.Step]
    /// The refused posts by cause.
    package var refusals: [String: Int]
    /// The answers to posts by status.
    package var answers: [String: Int]
    package var destinations: [Destination]
    package var store: Store
    /// The reason why the store cannot be written or read; nil without such a fault, without a store, and if the
    /// store does not answer.
    package var storeTrouble: String?
    /// The deliveries that wait for the destinations of this process, at most 100,000 counted for each; 0 if the
    /// store's figures are not known.
    package var waiting: Int
    /// The age of the oldest notification of these deliveries, in seconds; nil if no delivery waits, or if the
    /// store's figures are not known.
    package var oldestAge: Double?
    /// The deliveries that wait for destinations that this process does not have.
    package var unsent: Int
    /// The number of notifications in the store: ``AppStoreStoreFigures/kept``.
    package var kept: Int
    package var connections: Int
    package var certificates: [CertificateStatus]
    /// The last alarms, the oldest first.
    package var alarms: [AlarmLine]

    /// `posts` = `taken` + `copies` + `postponed` + `refused`.
    package struct Posts: Hashable, Codable, Sendable {
        package var posts: Int
        /// The genuine posts for an app that is served.
        package var verified: Int
        /// Notifications that the handler or the store has taken.
        package var taken: Int
        package var copies: Int
        package var postponed: Int
        package var refused: Int
    }

    package struct Destination: Hashable, Codable, Sendable {
        /// The name for display: scheme, host and port of the URL, because path and query may be secret. Further URLs
        /// of one host get a number, as in `https://a.example (2)`. A destination that is not a URL has the name
        /// `destination`.
        package var name: String
        package var state: State
        package var waiting: Int
        /// The deliveries in the store that were given up.
        package var setAside: Int
        package var underWay: Int
        package var delivered: Int
        package var failed: Int
        /// The median time of the deliveries in the last one to two minutes, in seconds; nil if nothing was delivered.
        package var p50: Double?
        /// The time within which 99 of 100 of these deliveries succeeded, in seconds.
        package var p99: Double?
        /// The last failure; nil if no attempt failed.
        package var lastFailure: AlarmLine?

        package enum State: String, Codable, Sendable {
            case untried
            case good
            /// At least the last three attempts failed, or no attempt has succeeded and at least one has failed.
            case failing
        }
    }

    package enum Store: String, Codable, Sendable {
        /// There is no store.
        case none
        case good
        /// The store cannot be written or read.
        case troubled
        /// The store does not answer within 1 s.
        case silent
    }
}
