package import FerryAdmin

/// Everything that operators see of a gateway: the answer to `GET /status`. The page and the commands show parts of it.
///
/// The members are documented in Docs/commands/gateway.md. Tokens and payloads are never among them.
package struct GatewayStatus: ServerStatus, Hashable {
    /// The version of this document. The version grows when a member changes its meaning or is removed. A new member
    /// does not change the version.
    package static let version = 1

    package var version = Self.version
    package var ferry: String
    /// The time of the status, in UNIX seconds.
    package var now: Int
    package var startedAt: Int
    package var condition = Condition(.well, "")
    /// The troubles, each in one sentence, the worst first.
    package var troubles: [Condition] = []
    package var ready = Health(isGood: true, "")
    package var delivering = Health(isGood: true, "")
    package var counts: FateCounts
    package var unanswered: Int
    /// The age of the oldest notification without a final answer, in seconds; nil if there is no such notification.
    package var oldestAge: Double?
    /// Events per second; see ``Rate``.
    package var rate: Rate
    /// The last hour in steps of ten seconds, the oldest first.
    package var history: [RateHistory.Step]
    /// The number of APNs' refusals by reason.
    package var refusals: [String: Int]
    package var clients: [Client]
    package var upstreams: [Upstream]
    package var store: Store
    package var certificates: [CertificateStatus]
    /// The last alarms, the oldest first.
    package var alarms: [AlarmLine]
    /// The files of the configuration that changed on disk, and were not read again.
    package var changedFiles: [String]
    /// The last reload, if it was refused; otherwise nil.
    package var refusedReload: AlarmLine? = nil
    /// The reason why the list of rejections cannot be written; nil while the list can be written, or if the list has
    /// no file.
    package var listTrouble: String? = nil
    /// The shards by their numbers, also those of other processes; nil without shards.
    package var shards: [Shard]? = nil

    package struct Shard: Hashable, Codable, Sendable {
        package var shard: Int
        /// The node that owns the shard; nil if no node owns it.
        package var owner: String?
        package var term: String
        /// The open connections of old clients. This member and the next two are nil if this process has no gateway
        /// for the shard. While this process hands a shard over, it still has the gateway.
        package var connections: Int? = nil
        /// The notifications without a final answer that are not at APNs.
        package var waiting: Int? = nil
        /// The notifications at APNs.
        package var inFlight: Int? = nil
        /// How long the right to forward still holds, in seconds; nil if this process does not own the shard.
        package var rightSeconds: Double? = nil

        package init(_ shard: Int, owner: String?, term: String) {
            self.shard = shard
            self.owner = owner
            self.term = term
        }
    }

    package struct Client: Hashable, Codable, Sendable {
        package var name: String
        package var upstream: String
        package var connections: Int
        /// When the client last sent something, in UNIX seconds; nil if the client has sent nothing since the start
        /// of this process.
        package var heardAt: Int?
        package var counts: FateCounts
        package var feedbackRows: Int
        /// The words that say how the client learns of a rejection.
        package var told: String
    }

    package struct Upstream: Hashable, Codable, Sendable {
        package var name: String
        package var address: String
        package var state: State
        package var connections: Int
        package var requests: Int
        package var accepted: Int
        package var refused: Int
        /// The median time to an answer in the last one to two minutes, in seconds; nil without an answer.
        package var p50: Double?
        package var p99: Double?
        package var held: Int
        package var shutTopics: [ShutTopic]
        /// The PINGs; nil if the gateway has a version that does not count them.
        package var pings: Pings?
        /// The last failure of the connections or of a trial, with its cure; nil before the first one.
        package var lastError: AlarmLine?

        /// A topic whose gate is shut: APNs refuses the topic or the credentials, or has refused the first tokens.
        package struct ShutTopic: Hashable, Codable, Sendable {
            package var topic: String
            /// The refusal with its explanation, in one or two sentences.
            package var cause: String
            /// The number of notifications that wait for this topic.
            package var held: Int
        }

        /// The counts of PINGs since the start, and the last round trip. `unanswered` counts the PINGs whose answer did
        /// not come in time. If the connection ends first, for another reason, the PING counts only in `sent`.
        package struct Pings: Hashable, Codable, Sendable {
            package var sent: Int
            package var answered: Int
            package var unanswered: Int
            /// The round trip of the last PING that was answered, in seconds; nil before the first answer.
            package var last: Double?
        }

        package enum State: String, CaseIterable, Codable, Sendable {
            /// No connection for notifications was tried since the start, or since a trial succeeded. With shards, an
            /// idle provider whose last tries failed counts as untried, too.
            case untried
            case good
            /// There is no connection, because the last tries to connect or the last trial failed.
            case failing
            /// The upstream answers everything with server errors; see ``Outage``.
            case outage
        }
    }

    package enum Store: String, Codable, Sendable {
        /// There is no store.
        case none
        case good
        /// The store does not answer, or refuses commits.
        case troubled
        /// Another gateway has the store.
        case taken
    }
}
