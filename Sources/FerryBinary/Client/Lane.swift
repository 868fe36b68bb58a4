internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// A lane: one of a provider's `maxConnections` places for a connection, its queue, and the experience from earlier
/// connections.
///
/// A lane is a class, because a change to a copy would be lost unnoticed. Only the client holds it.
final class Lane {
    /// The present connection. It changes only by its own verbs.
    var connection = BinaryConnection()
    private(set) var queue = RunQueue()
    private(set) var window = Window()
    /// The search for a culprit; nil while no search is under way.
    private(set) var search: Isolation?
    private(set) var failures: ConnectionFailures
    /// The number of connections in a row that the peer closed without a response and without progress.
    private(set) var wordlessCloses = 0
    /// The number of connections in a row on which the peer did not speak the protocol.
    private(set) var violations = 0

    init(failures: ConnectionFailures) {
        self.failures = failures
    }

    // MARK: The queue

    func append(_ run: BatchRun) { self.queue.append(run) }

    /// Inserts a run where the order of submission puts it.
    func insert(_ run: BatchRun) { self.queue.insert(run) }

    /// Inserts a run before all others.
    func prepend(_ run: BatchRun) { self.queue.prepend(run) }

    func takeQueued(atMost limit: Int) -> BatchRun? { self.queue.popFirst(atMost: limit) }

    func takeQueued(where isWithdrawn: (BatchEntry) -> Bool) -> [BatchRun] { self.queue.remove(where: isWithdrawn) }

    func takeQueue() -> [BatchRun] { self.queue.removeAll() }

    // MARK: Progress

    func wrote(_ run: BatchRun, now: NIODeadline) {
        self.connection.wrote(run, now: now)
        self.search?.wrote(run.count)
    }

    /// Notes that the peer was silent about everything on the connection for the quiet time of the search.
    func cleared() {
        self.connection.cleared()
        self.search?.cleared(onWire: self.connection.cache.unsettledCount)
    }

    /// Notes that the peer works: notifications were accepted, or rejected by name.
    func progressed(by count: Int) {
        guard count > 0 else { return }
        self.window.accepted(count)
        self.failures.worked()
        self.wordlessCloses = 0
        self.violations = 0
    }

    func closedWithoutWord() { self.wordlessCloses += 1 }

    /// Notes a breach of the protocol; returns the number of such connections in a row.
    func violated() -> Int {
        self.violations += 1
        return self.violations
    }

    // MARK: The window

    func narrowWindow(progress: Int?, limit: Int, settleTime: TimeAmount, now: NIODeadline) {
        self.window.narrow(progress: progress, limit: limit, settleTime: settleTime, now: now)
    }

    /// Doubles the window if it is due; returns whether the size changed.
    func widenWindow(limit: Int, settleTime: TimeAmount, now: NIODeadline) -> Bool {
        self.window.widen(limit: limit, settleTime: settleTime, now: now)
    }

    // MARK: The search for a culprit

    /// Begins the search among `suspects` notifications, or continues it.
    ///
    /// - Parameters:
    ///   - quietTime: how long the first window must be silent; nil if the peer closed without a response.
    ///   - isAmongThem: whether the culprit is certainly one of them.
    func search(among suspects: Int, quietTime: TimeAmount?, isAmongThem: Bool) {
        guard self.search == nil else {
            // If the first window of a connection fails, no silence was too short.
            let wasLate = self.connection.cache.clearedTo > self.connection.cache.start || !isAmongThem
            self.search?.failed(
                onWire: suspects,
                isWordless: quietTime == nil,
                wasLate: wasLate,
                isAmongThem: isAmongThem
            )
            return
        }
        self.search = Isolation(
            suspects: suspects,
            progress: quietTime == nil ? nil : self.window.progress,
            quietTime: quietTime,
            isAmongThem: isAmongThem
        )
    }

    /// Notes that the culprit was found. The search goes on among the other suspects.
    func foundCulprit() {
        self.search?.found(progress: self.window.progress)
        if self.search?.isOver ?? false { self.search = nil }
    }

    /// Notes that the probe of a window proved nothing, so silence decides for a while. A search that has found a
    /// culprit ends, because with silence alone it would take longer than a new one.
    func probeSaidNothing() {
        if self.search?.hasFound ?? false { self.search = nil }
    }

    /// The effect of the suspects' outcomes on the search.
    enum SearchStep {
        case goOn
        /// Every suspect has its outcome.
        case end(wasWordless: Bool)
    }

    /// Notes that `count` notifications have their outcome.
    ///
    /// - Parameter isProved: whether the peer proved that it accepted them.
    /// - Returns: also the number of notifications among which a culprit was, if the peer has now proved all of them
    ///   accepted.
    func searched(_ count: Int, isProved: Bool) -> (SearchStep, vanished: Int?) {
        let onWire = self.connection.cache.unsettledCount
        let vanished = self.search?.settled(count, onWire: onWire, isProved: isProved)
        guard let search, search.isOver else { return (.goOn, vanished) }
        self.search = nil
        return (.end(wasWordless: search.isWordless), vanished)
    }

    func endSearch() { self.search = nil }

    // MARK: The end of connections

    func disconnect() -> BinaryConnection.Closed {
        self.search?.restart()
        return self.connection.close()
    }

    /// Notes a connection that was of no use.
    ///
    /// - Parameter start: when the attempt began, if it led to no connection; otherwise now.
    func failed(
        since start: NIODeadline,
        now: NIODeadline,
        using generator: inout some RandomNumberGenerator
    ) -> ConnectionFailures.Verdict {
        self.failures.failed(since: start, now: now, using: &generator)
    }

    /// Notes that the peer refused the credentials. Returns the wait before the next connection.
    func refused(using generator: inout some RandomNumberGenerator) -> TimeAmount {
        self.failures.refused(using: &generator)
    }

    /// Forgets the failures so far, so that new work starts with a full count of attempts.
    func forgiveFailures() { self.failures.reset() }
}
