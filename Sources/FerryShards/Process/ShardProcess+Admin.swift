package import FerryCore
package import FerryGateway

/// The gateways of this process, for its admin service. Letters and waiting notifications are those of the shards that the
/// process owns.
extension ShardProcess: AdministeredGateways {
    package nonisolated var hasStore: Bool { true }

    package var shown: ShownGateways? {
        get async {
            let (sum, figures) = await self.snapshot
            var shards = self.sights.sorted { $0.key < $1.key }.map { shard, sight in
                GatewayStatus.Shard(shard, owner: sight.owner, term: sight.term)
            }
            for own in figures.owned {
                guard let index = shards.firstIndex(where: { $0.shard == own.shard }) else { continue }
                // The look may be older than the take.
                shards[index].owner = shards[index].owner ?? self.setup.node
                shards[index].connections = own.connections
                shards[index].waiting = max(own.counts.unanswered - own.underWay, 0)
                shards[index].inFlight = own.underWay
                // If another node owns the shard, this process only hands over, and has no right.
                if shards[index].owner == self.setup.node { shards[index].rightSeconds = own.rightSeconds }
            }
            return ShownGateways(sum, shards: shards) { figures.add(to: &$0) }
        }
    }

    package var openPorts: [(binary: Int, feedback: Int?)] {
        (Array(self.gateways.values) + [self.feedback].compactMap { $0 }).flatMap(\.doorPorts)
    }

    package func copyStore(to path: String) async throws(StoreError) -> StoreCopy {
        throw StoreError("With 'store.postgres', copy the database with PostgreSQL's own tools.")
    }

    // MARK: Letters

    package func letters(after: APNSID?, limit: Int) async throws(StoreError) -> [Letter] {
        var letters: [Letter] = []
        for gateway in self.gateways.values { letters += try await gateway.letters(after: after, limit: limit) }
        let sorted = letters.sorted { Letter.key(of: $0.apnsID).lexicographicallyPrecedes(Letter.key(of: $1.apnsID)) }
        return Array(sorted.prefix(limit))
    }

    package func letters(_ ids: [APNSID]) async throws(StoreError) -> [Letter] {
        var letters: [Letter] = []
        for gateway in self.gateways.values { letters += try await gateway.letters(ids) }
        return letters
    }

    package func retry(_ letters: [Letter]) async throws -> [LetterResult] {
        try await self.each(letters.map(\.apnsID)) { gateway, ids in
            let ids = Set(ids)
            return try await gateway.retry(letters.filter { ids.contains($0.apnsID) })
        }
    }

    package func drop(_ ids: [APNSID]) async throws -> [LetterResult] {
        try await self.each(ids) { try await $0.drop($1) }
    }

    /// Calls `body` for each gateway that has some of these letters. Returns a result for each identifier, in the
    /// order of `ids`.
    private func each(
        _ ids: [APNSID],
        _ body: (Gateway, [APNSID]) async throws -> [LetterResult]
    ) async throws -> [LetterResult] {
        var results: [APNSID: LetterResult] = [:]
        for gateway in self.gateways.values {
            let own = Set(try await gateway.letters(ids).map(\.apnsID))
            let here = ids.filter { own.contains($0) }
            guard !here.isEmpty else { continue }
            results.merge(zip(here, try await body(gateway, here))) { $1 }
        }
        return ids.map { results[$0] ?? .missing }
    }

    // MARK: Notifications that wait

    package func waiting(
        after place: WaitingPlace,
        _ filter: WaitingFilter,
        limit: Int
    ) async throws -> (rows: [WaitingRow], next: WaitingPlace?) {
        guard let (shard, gateway) = self.gateway(from: place.shard) else { return ([], nil) }
        let place = shard == place.shard ? place : WaitingPlace(shard: shard)
        let (rows, next) = try await gateway.waiting(after: place, filter, limit: limit)
        return (rows, self.place(next, after: shard))
    }

    package func waitingSums(
        after place: WaitingPlace,
        _ filter: WaitingFilter
    ) async throws -> (sums: [WaitingSum], next: WaitingPlace?) {
        guard let (shard, gateway) = self.gateway(from: place.shard) else { return ([], nil) }
        let place = shard == place.shard ? place : WaitingPlace(shard: shard)
        let (sums, next) = try await gateway.waitingSums(after: place, filter)
        return (sums, self.place(next, after: shard))
    }

    /// The shard with the smallest number, from this number on, whose gateway runs in this process; nil if there is
    /// none.
    private func gateway(from shard: Int) -> (shard: Int, gateway: Gateway)? {
        self.gateways.filter { $0.key >= shard }.min { $0.key < $1.key }.map { (shard: $0.key, gateway: $0.value) }
    }

    /// The place after a page of a shard: in the shard, or at the beginning of the next shard; nil after the last
    /// shard.
    private func place(_ next: WaitingPlace?, after shard: Int) -> WaitingPlace? {
        if let next { return WaitingPlace(next, shard: shard) }
        return self.gateway(from: shard + 1).map { WaitingPlace(shard: $0.shard) }
    }
}
