internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The letters: notifications that the store keeps until an operator sends or drops them.
extension GatewayMachine {
    /// Notes the letters of the jobs that have ended, in the commit of their answers.
    func collectLetters(now: Moment) {
        guard !self.dispatch.letters.isEmpty else { return }
        for letter in self.dispatch.takeLetters() {
            self.journal?.change(self.letters.add(letter), now: now)
        }
    }

    /// Removes the letters that are too old.
    func removeOldLetters(now: Moment) {
        guard self.journal != nil else { return }
        self.journal?.change(self.letters.timePassed(now: now.monotonic, seconds: now.epochSeconds), now: now)
    }

    /// Takes the letters that an earlier process left. Pages bound the memory, because all letters together may have
    /// 256 MiB.
    func restoreLetters(of store: any GatewayStore) async throws(StoreError) {
        var last: [UInt8] = []
        while true {
            let rows = try await store.rows(.letters, after: last, limit: 1000)
            guard let key = rows.last?.key else { return }
            self.restoreLetters(rows)
            last = key
        }
    }

    /// Takes a page of letters. A damaged row counts as too old, so ``removeOldLetters(now:)`` removes it.
    func restoreLetters(_ rows: [StoreRow]) {
        for row in rows {
            self.letters.restore(row.key, endedAt: Letter(row)?.endedAt ?? 0, length: row.key.count + row.value.count)
        }
    }

    // MARK: Operators

    /// Sends letters again, each with its old `apns-id`. A letter that may have arrived may arrive twice. The store
    /// removes the letter in the commit that notes the notification. So a kill neither loses the letter nor adds a
    /// second delivery.
    func retry(_ letters: [Letter], now: Moment) -> [LetterResult] {
        var connections: [ReplayScope: ConnectionID] = [:]
        let results = letters.map { self.retry($0, &connections, now: now) }
        // These connections exist only in the journal. If they stayed open there, the next process would swallow a push
        // that equals a letter.
        for id in connections.values { self.journal?.closed(id, now: now) }
        return results
    }

    private func retry(_ letter: Letter, _ connections: inout [ReplayScope: ConnectionID], now: Moment) -> LetterResult
    {
        let row = StoreChange(.letters, key: Letter.key(of: letter.apnsID), value: nil)
        let id = Letter.job(ofKey: row.key)
        guard self.journal != nil, self.letters.has(id), self.dispatch.jobs[id] == nil else { return .missing }
        guard letter.expiration == 0 || letter.expiration > now.epochSeconds else { return .expired }
        let identity = self.dispatch.identities.firstIndex { $0.storeName == letter.client && $0.isConfigured }
        guard let identity else { return .unknownClient }
        guard self.endsAt == nil, !self.isStoreTaken, self.spool(for: identity, now: now) == .open else {
            return .noRoom
        }
        let scope = ReplayScope(identity: identity, address: letter.address)
        let connection: ConnectionID
        if let known = connections[scope] {
            connection = known
        } else {
            self.lastConnection += 1
            connection = ConnectionID(self.lastConnection)
            connections[scope] = connection
        }
        var job = letter.token.withUnsafeBufferPointer { token in
            letter.payload.withUnsafeBufferPointer { payload in
                Job(
                    scope: scope,
                    token: token,
                    payload: payload,
                    expiration: letter.expiration,
                    priority: letter.priority,
                    first: Job.Reader(connection: connection, sequence: id.rawValue),
                    readAt: now.monotonic,
                    readAtSeconds: now.epochSeconds
                )
            }
        }
        job.isReleased = true
        job.isCarried = true
        job.isTimed = false
        // No client has this connection, so no error response can name the notification.
        job.isNamed = false
        job.mayHaveArrived = letter.mayHaveArrived
        _ = self.letters.remove(id)
        self.dispatch.verdicts.count(identity) { $0.retried += 1 }
        self.journal?.retry(&job, as: id, from: row, now: now)
        self.dispatch.take(job, as: id)
        if let segment = self.journal?.number { self.unsent.append((segment, id)) }
        return .done
    }

    /// Removes letters, and returns a result for each.
    func drop(_ ids: [APNSID], now: Moment) -> [LetterResult] {
        ids.map { apnsID in
            let key = Letter.key(of: apnsID)
            guard self.journal != nil, !self.isStoreTaken else { return .noRoom }
            guard self.letters.remove(Letter.job(ofKey: key)) else { return .missing }
            self.journal?.change([StoreChange(.letters, key: key, value: nil)], now: now)
            return .done
        }
    }
}
