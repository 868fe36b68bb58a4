package import FerryCore
internal import NIOCore

/// Moves of device groups from one side to the other.
///
/// A group moves when the rule changes, and when a side goes down, is tried, or works again. Its unwritten
/// notifications are taken back. Unwritten and new notifications of the group wait in ``MigrationFront`` until neither
/// side has an unsettled notification of the group. So the notifications of a device keep their order. On a side that
/// is down, only written notifications count as unsettled here.
extension MigratingClient where Binary: ~Copyable, HTTP2: ~Copyable {
    /// Takes a new rule, and moves the groups whose side it changes.
    package mutating func change(_ rule: MigrationRule, now: Moment) {
        let groups = self.router.change(rule)
        self.report.startPeriod(share: rule.share)
        self.move(groups, now: now)
        self.goOn(now: now)
    }

    /// Starts the move of these groups to the sides that the router now gives them.
    mutating func move(_ groups: DeviceGroupSet, now: Moment) {
        guard !groups.isEmpty else { return }
        self.front.hold(groups)
        self.isMoving = true
        self.noticeAt = now.monotonic + Self.noticeAfter
        self.recallMoving(now: now)
        self.countUnsettled(now: now)
    }

    /// Counts the unsettled notifications of the moving groups. A group without unsettled notifications is released at
    /// once.
    private mutating func countUnsettled(now: Moment) {
        // On a side that is down, a notification may wait long for its next copy. A move does not wait for such a copy,
        // so only written notifications are counted there.
        let moving = self.front.moving
        var binary = GroupTally()
        var http2 = GroupTally()
        self.binary.visitUnsettled(inFlight: self.router.down.contains(.binary)) { entry in
            if moving.contains(DeviceGroup.of(entry)) { binary.add(entry) }
        }
        self.http2.visitUnsettled(inFlight: self.router.down.contains(.http2)) { entry in
            if moving.contains(DeviceGroup.of(entry)) { http2.add(entry) }
        }
        self.binary.outcomes.tally = binary
        self.http2.outcomes.tally = http2
        self.release(self.front.moving.groups, now: now)
    }

    /// Takes back notifications of moving groups from both sides: those that are not written, and those that wait for
    /// their next copy. If an earlier copy may have arrived, the notification is taken back only if the option
    /// `includesUnknown` lets it go over. A notification that has gone over stays on its side, because it may go over
    /// only once.
    private mutating func recallMoving(now: Moment) {
        let moving = self.front.moving
        func isMeant(_ entry: BatchEntry) -> Bool { !entry.marks.wentOver && moving.contains(DeviceGroup.of(entry)) }
        for side in ProviderSide.allCases {
            let goesOver = self.router.down.contains(side) && !self.router.down.contains(side.other)
            let tainted = goesOver && self.options.fallback?.includesUnknown == true
            let runs =
                switch side {
                case .binary: self.binary.recall(tainted: tainted, where: isMeant, now: now)
                case .http2: self.http2.recall(tainted: tainted, where: isMeant, now: now)
                }
            for run in runs {
                switch side {
                case .binary: self.binary.outcomes.uncount(run)
                case .http2: self.http2.outcomes.uncount(run)
                }
                if goesOver {
                    for index in 0..<run.count { run.entries[index].marks.wasRecalled = true }
                }
                self.front.append(run)
            }
        }
    }

    /// Releases the moving groups in `groups` whose tally is 0 on both sides: no counted notification is unsettled.
    private mutating func release(_ groups: [Int], now: Moment) {
        let settled = self.http2.outcomes.settled(of: self.binary.outcomes.settled(of: groups))
        for group in settled where self.front.moving.contains(group) {
            for run in self.front.release(group) { self.routeEach(run, now: now) }
        }
        guard self.isMoving, self.front.moving.isEmpty else { return }
        self.isMoving = false
        self.binary.outcomes.tally = nil
        self.http2.outcomes.tally = nil
        self.noticeAt = nil
        self.report(.moved)
    }

    /// Releases the groups whose last notification got its outcome or was given back.
    mutating func releaseSettled(now: Moment) {
        guard !self.front.moving.isEmpty else { return }
        let groups = self.binary.outcomes.takeEmptiedGroups() + self.http2.outcomes.takeEmptiedGroups()
        if !groups.isEmpty { self.release(groups, now: now) }
    }

    /// Takes back notifications that wait for their next copy on the side that their group leaves.
    mutating func recallAgain(now: Moment) {
        guard self.isMoving else { return }
        self.recallMoving(now: now)
        // A copy that waits on a side that is down is no longer in flight. The move does not wait for it, so the groups
        // are counted again.
        if !self.router.down.isEmpty { self.countUnsettled(now: now) }
    }

    /// Reports the sides that a slow move waits for, once for each move.
    mutating func noticeWaiting(now: Moment) {
        guard let noticeAt, noticeAt <= now.monotonic else { return }
        self.noticeAt = nil
        if self.binary.outcomes.tally?.isEmpty == false {
            self.report(.waiting(for: .binary, notifications: self.front.count))
        }
        if self.http2.outcomes.tally?.isEmpty == false {
            self.report(.waiting(for: .http2, notifications: self.front.count))
        }
    }

    mutating func report(_ event: MigrationEvent) { self.events.append(SidedEvent(.migration(event), side: nil)) }
}
