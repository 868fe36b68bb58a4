internal import FerryCore
internal import NIOCore

/// All figures of a gateway at one moment, or the sum of several gateways with one configuration.
package struct GatewaySnapshot: Sendable {
    package var figures: GatewayFigures
    package var loop = LoopFigures()
    /// The figures of the upstreams' providers, by the numbers of ``tables``.
    package var watched: [UpstreamWatch.Figures]
    /// The names of the clients and the upstreams.
    package var tables: GatewayTables

    init(_ figures: GatewayFigures, _ loop: LoopFigures, _ watched: [UpstreamWatch.Figures], _ tables: GatewayTables) {
        self.figures = figures
        self.loop = loop
        self.watched = watched
        self.tables = tables
    }

    /// The figures before the first notification.
    package init(_ tables: GatewayTables) {
        self.tables = tables
        self.watched = tables.upstreams.map { _ in UpstreamWatch.Figures() }
        self.figures = GatewayFigures(
            counts: FateCounts(),
            clients: tables.identities.map { GatewayFigures.Client($0, tables) },
            upstreams: tables.upstreams.map { _ in GatewayFigures.Upstream() },
            underWay: 0,
            isOpen: true,
            store: .good,
            letters: LetterShelf.Figures()
        )
    }

    /// Adds the figures of another gateway. The clients and upstreams of `other` may have other numbers, so they are
    /// found by their names.
    package mutating func add(_ other: GatewaySnapshot) {
        let upstreams = Dictionary(self.tables.upstreams.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { $1 })
        for (number, upstream) in other.tables.upstreams.enumerated() {
            guard let own = upstreams[upstream.name], other.figures.upstreams.indices.contains(number) else { continue }
            self.figures.upstreams[own].add(other.figures.upstreams[number])
            if other.watched.indices.contains(number) { self.watched[own].join(other.watched[number]) }
        }
        var clients = Dictionary(
            self.tables.identities.enumerated().map { ($1.storeName, $0) },
            uniquingKeysWith: { $1 }
        )
        for (identity, client) in zip(other.tables.identities, other.figures.clients) {
            if let own = clients[identity.storeName] {
                self.figures.clients[own].add(client)
                continue
            }
            // A reload in an earlier owner of the shard has removed the client while its notifications waited.
            var client = client
            client.upstream =
                other.tables.upstreams.indices.contains(client.upstream)
                ? upstreams[other.tables.upstreams[client.upstream].name] ?? 0 : 0
            clients[identity.storeName] = self.figures.clients.count
            self.figures.clients.append(client)
            var named = identity
            named.routes = []
            self.tables.identities.append(named)
        }
        self.figures.add(other.figures)
        self.loop.add(other.loop)
    }

    /// The figures of a gateway that has ended. Another process has taken over the notifications without a final
    /// answer.
    package var left: GatewaySnapshot {
        var snapshot = self
        snapshot.figures.leave()
        snapshot.watched = self.watched.map(\.left)
        return snapshot
    }
}

extension Gateway {
    /// All figures of this moment. Cost: one turn of the event loop.
    package var snapshot: GatewaySnapshot {
        get async throws {
            let (driver, tables) = (self.driver, self.tables)
            return try await driver.eventLoop.submit {
                let (figures, loop) = driver.figures()
                return GatewaySnapshot(figures, loop, driver.upstreams.map(\.watch.figures), tables)
            }.get()
        }
    }
}

extension LoopFigures {
    fileprivate mutating func add(_ other: LoopFigures) {
        self.turns.add(other.turns)
        self.commits.add(other.commits)
        self.refusals.merge(other.refusals, uniquingKeysWith: +)
    }
}

extension GatewayFigures {
    /// Adds the figures that belong to no client and no upstream.
    fileprivate mutating func add(_ other: GatewayFigures) {
        self.counts.add(other.counts)
        self.oldestAge = [self.oldestAge, other.oldestAge].compactMap { $0 }.max()
        self.underWay += other.underWay
        // A shard that another process has taken is no trouble of this process.
        if other.store == .troubled { self.store = .troubled }
        self.letters?.add(other.letters ?? LetterShelf.Figures())
        self.segments += other.segments
        self.late.add(other.late)
    }

    fileprivate mutating func leave() {
        self.counts = self.counts.left
        for number in self.clients.indices {
            self.clients[number].counts = self.clients[number].counts.left
            self.clients[number].connections = 0
        }
        for number in self.upstreams.indices {
            let answers = self.upstreams[number].answers
            self.upstreams[number] = Upstream()
            self.upstreams[number].answers.add(answers)
        }
        (self.oldestAge, self.underWay, self.store) = (nil, 0, .good)
        self.letters = self.letters.map { letters in
            var left = LetterShelf.Figures()
            (left.dropped, left.outdated) = (letters.dropped, letters.outdated)
            return left
        }
        (self.segments, self.late.waiting) = (0, 0)
    }
}

extension GatewayFigures.Client {
    fileprivate init(_ identity: ClientIdentity, _ tables: GatewayTables) {
        self.init(
            name: identity.name,
            isConfigured: identity.isConfigured,
            upstream: identity.routes.first.map { tables.routes[$0].upstream } ?? 0,
            counts: FateCounts(),
            connections: 0,
            episodes: 0,
            feedbackRows: 0,
            mode: identity.mode,
            resends: identity.resends
        )
    }

    fileprivate mutating func add(_ other: Self) {
        self.counts.add(other.counts)
        self.connections += other.connections
        self.episodes += other.episodes
        self.heardAt = [self.heardAt, other.heardAt].compactMap { $0 }.max()
        self.feedbackRows += other.feedbackRows
    }
}

extension GatewayFigures.Upstream {
    fileprivate init() {
        self.init(
            answers: AnswerFigures(),
            recent: TimeHistogram(),
            held: 0,
            shutTopics: [],
            hasOutage: false
        )
    }

    fileprivate mutating func add(_ other: Self) {
        self.answers.add(other.answers)
        self.recent.add(other.recent)
        self.held += other.held
        self.hasOutage = self.hasOutage || other.hasOutage
        for shut in other.shutTopics {
            if let own = self.shutTopics.firstIndex(where: { $0.topic == shut.topic }) {
                self.shutTopics[own].held += shut.held
            } else {
                self.shutTopics.append(shut)
            }
        }
    }
}

extension LetterShelf.Figures {
    fileprivate mutating func add(_ other: Self) {
        self.count += other.count
        self.bytes += other.bytes
        self.dropped += other.dropped
        self.outdated += other.outdated
    }
}
