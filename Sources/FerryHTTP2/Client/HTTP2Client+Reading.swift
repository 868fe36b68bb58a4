package import FerryCore
package import FerryMachine
package import NIOCore

extension HTTP2Client {
    /// Takes bytes of a connection.
    package mutating func received(_ id: ConnectionID, _ bytes: ByteBuffer, handed: UInt64, now: Moment) {
        guard self.connections.contains(id) else { return }
        let wasLeaving = self.connections[id].isLeaving
        do {
            try self.connections[id].receive(bytes, now: now)
        } catch {
            self.read(id, now: now)
            return self.drop(id, .violation(peer: self.peer, error), now: now)
        }
        self.read(id, now: now)
        self.learnFromExclusion(id)
        self.judgeConduct(of: id, hasRead: true, now: now)
        self.connections[id].endReading()
        // The failure counts now. If it counted at the connection's end, the next connection would be dialled before.
        if !wasLeaving, self.connections[id].isLeaving { self.countFailure(of: id, now: now) }
        self.finishIfDone(id, now: now)
        self.connectIfNeeded(now: now)
        self.checkCompleted(now: now)
    }

    /// Handles the events of a connection.
    mutating func read(_ id: ConnectionID, now: Moment) {
        while let action = self.connections[id].read(now: now) {
            switch action {
            case .windowAdjusted(let size):
                self.report(.windowAdjusted(size))
            case .answered(let request, let answer):
                self.answered(self.written.take(request.slot), answer, on: id, now: now)
            case .refused(let slot, let isExcluded):
                if !isExcluded {
                    let window = self.connections[id].narrow(now: now.monotonic, using: &self.generator)
                    self.report(.windowAdjusted(window))
                }
                self.sendAgain([self.written.take(slot).attempt])
            case .reset(let slot, let errorCode, let isBurst):
                self.wasReset(self.written.take(slot).attempt, errorCode, isBurst: isBurst, on: id, now: now)
            case .unsent(let slot):
                self.connections[id].pause(now: now.monotonic, using: &self.generator)
                self.sendAgain([self.written.take(slot).attempt])
            case .goAway(let action):
                self.goAway(action, on: id, now: now)
            }
        }
    }

    private mutating func goAway(_ action: GoAwayState.Action, on id: ConnectionID, now: Moment) {
        if case .nothing = action { return }
        if let error = self.connections[id].farewell(peer: self.peer) {
            self.report(.socketError(id, error))
        }
        guard case .reportAndWait = action else { return }
        self.dialling.calm(now: now.monotonic, using: &self.generator)
    }

    private mutating func wasReset(
        _ attempt: Attempt,
        _ errorCode: HTTP2ErrorCode,
        isBurst: Bool,
        on id: ConnectionID,
        now: Moment
    ) {
        if isBurst {
            self.narrow(answered: self.connections[id].record.answered, .unknown)
            self.connections[id].beginAnew()
        }
        let entry = attempt.run.entries[0]
        self.report(.requestReset(id, errorCode, tag: entry.fields.isAwaited ? nil : PushTag(entry.tag)))
        guard let attempt = self.unknown(attempt, .reset, errorCode) else { return }
        self.connections[id].pause(now: now.monotonic, using: &self.generator)
        self.sendAgain([attempt])
    }

    // MARK: The cost of ends

    private mutating func learnFromExclusion(_ id: ConnectionID) {
        let excluded = self.connections[id].record.excluded
        guard excluded > 0 else { return }
        self.learn(from: id, .copies(excluded), expected: self.connections[id].underWay)
    }

    /// Notes the cost of a connection's end, once. It is noted twice if a GOAWAY promised answers that did not come.
    ///
    /// - Parameter expected: the number of answers that are still to come on it.
    mutating func learn(from id: ConnectionID, _ loss: EarnedWindow.Loss, expected: Int = 0) {
        guard let answered = self.connections[id].lost(loss, expected: expected) else { return }
        self.narrow(answered: answered, loss)
    }

    /// Narrows the window of every connection after a loss.
    private mutating func narrow(answered: Int, _ loss: EarnedWindow.Loss) {
        let before = self.earned.size(answered: 0)
        self.earned.ended(answered: answered, loss)
        self.connections.earn(self.earned)
        let size = self.earned.size(answered: 0)
        if size != before { self.report(.windowAdjusted(size)) }
    }
}
