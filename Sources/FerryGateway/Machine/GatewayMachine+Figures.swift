package import FerryCore
internal import FerryMachine
internal import NIOCore

/// The figures of a gateway at one moment, for operators.
package struct GatewayFigures: Sendable {
    package struct Client: Hashable, Sendable {
        package var name: String
        /// Whether the configuration names the client. A client that a reload removed keeps its counts.
        package var isConfigured: Bool
        /// The number of the upstream of the client's first topic.
        package var upstream: Int
        package var counts: FateCounts
        package var connections: Int
        /// The number of error responses, status 10 included.
        package var episodes: Int
        /// When the client last sent something, in UNIX seconds; nil if it has sent nothing to this process.
        package var heardAt: UInt32?
        /// The number of devices in the client's feedback list.
        package var feedbackRows: Int
        package var mode: ClientIdentity.Mode
        /// Whether the configuration says that the client repeats the followers of an error response; nil if it does
        /// not say.
        package var resends: Bool?
    }

    package struct Upstream: Hashable, Sendable {
        package var answers: AnswerFigures
        /// The times from the reading of a notification to the answer to its first attempt, for the answers of the
        /// last one to two minutes. Only notifications with ``Job/isTimed`` count.
        package var recent: TimeHistogram
        /// The number of notifications that wait at shut gates.
        package var held: Int
        /// The topics whose gate is shut.
        package var shutTopics: [ShutTopic]
        /// Whether the upstream answers everything with server errors; see ``Outage``.
        package var hasOutage: Bool
    }

    package var counts: FateCounts
    package var clients: [Client]
    package var upstreams: [Upstream]
    /// The age of the oldest notification that has no final answer, in seconds; nil if all have one.
    package var oldestAge: Double?
    /// The number of notifications that are at an upstream.
    package var underWay: Int
    /// Whether new connections are accepted. A connection of a single client may still be refused.
    package var isOpen: Bool
    /// The state of the store; nil without a store.
    package var store: Store?
    /// The letters in the store; nil without a store.
    package var letters: LetterShelf.Figures?
    /// The reason why the list of rejections cannot be written; nil if the list can be written, or has no file.
    package var listTrouble: String? = nil
    /// The number of segments in the store.
    package var segments = 0
    package var late = Late()

    /// The numbers of notifications in late segments. `takenOver` and `handedOver` count since the start of this
    /// process.
    package struct Late: Hashable, Sendable {
        package var takenOver = 0
        package var handedOver = 0
        /// The number of notifications that a handover under way has not handed over yet; 0 before a handover.
        package var waiting = 0

        package init() {}

        package mutating func add(_ other: Late) {
            self.takenOver += other.takenOver
            self.handedOver += other.handedOver
            self.waiting += other.waiting
        }
    }

    package enum Store: Hashable, Sendable {
        case good
        /// The store does not answer, or refuses commits. Notifications wait.
        case troubled
        /// Another process has the store.
        case taken
    }
}

extension GatewayMachine {
    /// The figures of this moment. Cost: one pass over the clients, and two passes over the routes for each upstream.
    func figures(now: Moment) -> GatewayFigures {
        let verdicts = self.dispatch.verdicts
        let clients = self.dispatch.identities.indices.map { index in
            let (identity, traffic) = (self.dispatch.identities[index], self.traffic[index])
            return GatewayFigures.Client(
                name: identity.name,
                isConfigured: identity.isConfigured,
                upstream: identity.routes.first.map { self.dispatch.routes.upstream(of: $0) } ?? 0,
                counts: verdicts.clients[index],
                connections: traffic.connections,
                episodes: traffic.episodes,
                heardAt: traffic.heardAt,
                feedbackRows: verdicts.feedback.count(of: index),
                mode: identity.mode,
                resends: identity.resends
            )
        }
        let upstreams = verdicts.answers.indices.map { index in
            GatewayFigures.Upstream(
                answers: verdicts.answers[index],
                recent: self.dispatch.verdicts.recentTimes(of: index, now: now.monotonic),
                held: self.dispatch.routes.heldCount(by: index),
                shutTopics: self.dispatch.routes.shutTopics(of: index),
                hasOutage: self.dispatch.routes.hasOutage(index)
            )
        }
        let oldest = self.dispatch.jobs.oldest()
        var late = self.late
        late.waiting = self.handover == nil ? 0 : self.unsent.count
        return GatewayFigures(
            counts: self.counts,
            clients: clients,
            upstreams: upstreams,
            oldestAge: oldest.map { Double($0.age(now: now.monotonic).nanoseconds) / 1e9 },
            underWay: self.dispatch.underWay,
            isOpen: self.isOpen(now: now),
            store: self.handover == nil ? self.journal?.condition : .taken,
            letters: self.journal == nil ? nil : self.letters.figures,
            listTrouble: self.list?.trouble,
            segments: self.journal?.segments.entryCount ?? 0,
            late: late
        )
    }
}
