internal import FerryCore
package import NIOCore

/// The choice of a side for each notification.
extension MigratingClient where Binary: ~Copyable, HTTP2: ~Copyable {
    /// Sends each notification of a run to its side. If the group of a notification moves, the notification waits in
    /// ``MigrationFront``.
    mutating func route(_ run: BatchRun, now: Moment) {
        if self.front.moving.isEmpty, let side = self.router.uniformSide, self.takesAll(run, side) {
            return self.submit(run, to: side, now: now)
        }
        self.routeEach(run, now: now)
    }

    /// Routes like ``route(_:now:)``, but chooses a side for each notification. The home of a notification is the side
    /// that the rule gives it. If a notification was recalled from its home and goes to the other side, it counts as
    /// gone over.
    mutating func routeEach(_ run: BatchRun, now: Moment) {
        self.destinations.removeAll(keepingCapacity: true)
        for index in 0..<run.count { self.destinations.append(self.destination(of: run, at: index)) }
        self.distribute(run, now: now)
    }

    private func takesAll(_ run: BatchRun, _ side: ProviderSide) -> Bool {
        switch side {
        case .binary: self.binary.takesAll(run)
        case .http2: self.http2.takesAll(run)
        }
    }

    func takes(_ run: BatchRun, at index: Int, _ side: ProviderSide) -> Bool {
        switch side {
        case .binary: self.binary.takes(run, at: index)
        case .http2: self.http2.takes(run, at: index)
        }
    }

    private mutating func destination(of run: BatchRun, at index: Int) -> MigrationFront.Destination {
        let entries = run.entries
        if self.front.isMoving(entries[index]) { return .front }
        let home = self.router.home(run, at: index)
        let side = self.router.side(run, at: index)
        defer { entries[index].marks.wasRecalled = false }
        if self.takes(run, at: index, side) {
            if side != home, entries[index].marks.wasRecalled {
                self.noteGoingOver(run.slice(index..<index + 1), from: home)
            }
            return .side(side)
        }
        // If the side that stands in cannot send the notification, the notification goes to its home.
        if side != home, self.takes(run, at: index, home) { return .side(home) }
        guard side == home, self.options.sendsElsewhere, self.takes(run, at: index, home.other) else {
            return .refused(home)
        }
        self.report.update(home.other) { $0.forced += 1 }
        return .side(home.other)
    }

    /// Distributes the notifications of a run as ``destinations`` says. A run with one destination stays whole.
    /// Otherwise the bytes are copied, because many short runs would cost a side more than the copy.
    private mutating func distribute(_ run: BatchRun, now: Moment) {
        guard let first = self.destinations.first else { return }
        if self.destinations.allSatisfy({ $0 == first }) { return self.deliver(run, to: first, now: now) }
        let destinations: [MigrationFront.Destination] = [
            .side(.binary), .side(.http2), .front, .refused(.binary), .refused(.http2),
        ]
        for destination in destinations {
            guard let part = self.copy(run, for: destination) else { continue }
            self.deliver(part, to: destination, now: now)
        }
    }

    private func copy(_ run: BatchRun, for destination: MigrationFront.Destination) -> BatchRun? {
        var (count, bytes) = (0, 0)
        for index in 0..<run.count where self.destinations[index] == destination {
            count += 1
            bytes += run.storage.byteCount(at: run.start + index)
        }
        guard count > 0 else { return nil }
        let storage = BatchStorage(capacity: count, arenaCapacity: bytes)
        for index in 0..<run.count where self.destinations[index] == destination {
            storage.append(from: run.storage, at: run.start + index)
        }
        storage.seal()
        return BatchRun(storage: storage, start: 0, count: count, order: run.order, isCopy: run.isCopy)
    }

    private mutating func deliver(_ run: BatchRun, to destination: MigrationFront.Destination, now: Moment) {
        switch destination {
        case .side(let side): self.submit(run, to: side, now: now)
        case .front: self.front.append(run)
        case .refused(let side): self.refuse(run, in: side, now: now)
        }
    }

    private mutating func refuse(_ run: BatchRun, in side: ProviderSide, now: Moment) {
        for index in 0..<run.count {
            let one = run.slice(index..<index + 1)
            let rejection =
                switch side {
                case .binary: self.binary.refusal(of: run, at: index)
                case .http2: self.http2.refusal(of: run, at: index)
                }
            // Without a rejection, the notification goes to the side, and the side decides about its outcome.
            guard let rejection else {
                self.submit(one, to: side, now: now)
                continue
            }
            switch side {
            case .binary: self.binary.outcomes.give(.rejected(rejection), to: one)
            case .http2: self.http2.outcomes.give(.rejected(rejection), to: one)
            }
        }
    }

    mutating func submit(_ run: BatchRun, to side: ProviderSide, now: Moment) {
        switch side {
        case .binary: self.binary.submit(run, now: now)
        case .http2: self.http2.submit(run, now: now)
        }
    }

    // MARK: Time

    package var nextDeadline: NIODeadline? {
        var next = NIODeadline.distantFuture
        func consider(_ deadline: NIODeadline?) {
            if let deadline, deadline < next { next = deadline }
        }
        consider(self.binary.nextDeadline)
        consider(self.http2.nextDeadline)
        consider(self.noticeAt)
        if let deadline, let oldest = self.front.oldest { consider(oldest + deadline) }
        consider(self.health.binary?.deadline)
        consider(self.health.http2?.deadline)
        return next == .distantFuture ? nil : next
    }

    /// Settles the notifications in ``MigrationFront`` whose deadline has passed.
    mutating func giveUpLate(now: Moment) {
        guard let deadline, let oldest = self.front.oldest, oldest + deadline <= now.monotonic else { return }
        for run in self.front.removeSubmitted(by: now.monotonic - deadline) {
            self.settle(run, as: .undelivered(.deadline), tainted: .uncertain(.notRepeated))
        }
    }

    /// Gives notifications in ``MigrationFront`` their outcome. The outcome counts for the side that the rule gives
    /// them.
    mutating func settle(_ run: BatchRun, as clean: Outcome, tainted: Outcome) {
        for index in 0..<run.count {
            let one = run.slice(index..<index + 1)
            switch self.router.home(run, at: index) {
            case .binary: self.binary.outcomes.give(clean, tainted: tainted, to: one, isFinal: true)
            case .http2: self.http2.outcomes.give(clean, tainted: tainted, to: one, isFinal: true)
            }
        }
    }
}
