internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// One of a provider's `maxConnections` places for a connection, with the notifications that belong there and what was
/// learned from the connections before.
///
/// A class, because a lane has identity: a copy of it would count references, and be changed in its place unseen. Only its
/// client has it.
final class Lane {
    /// A machine with verbs of its own.
    var connection = BinaryConnection()
    private(set) var queue = RunQueue()
    private(set) var window = Window()
    /// The search for a culprit; nil while there is none, and so no window of it to note anything about.
    private(set) var search: Isolation?
    private(set) var failures: ConnectionFailures
    /// Connections in a row that the peer closed without a word and without progress.
    private(set) var wordlessCloses = 0
    /// Connections in a row on which the peer did not speak the protocol.
    private(set) var violations = 0

    init(backOff: BackOff) {
        self.failures = ConnectionFailures(backOff: backOff)
    }

    // MARK: The queue

    func append(_ run: BatchRun) { self.queue.append(run) }

    /// Puts a run to where the order of submission wants it.
    func insert(_ run: BatchRun) { self.queue.insert(run) }

    /// Puts a run before everything else.
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

    /// Notes that the peer is well: notifications were accepted, or rejected by name.
    func progressed(by count: Int) {
        guard count > 0 else { return }
        self.window.accepted(count)
        self.failures.reset()
        self.wordlessCloses = 0
        self.violations = 0
    }

    func closedWithoutWord() { self.wordlessCloses += 1 }

    /// Returns how many connections in a row it is now.
    func violated() -> Int {
        self.violations += 1
        return self.violations
    }

    // MARK: The window

    func narrowWindow(progress: Int?, limit: Int, settleTime: TimeAmount, now: NIODeadline) {
        self.window.narrow(progress: progress, limit: limit, settleTime: settleTime, now: now)
    }

    /// Returns whether the size changed.
    func widenWindow(limit: Int, settleTime: TimeAmount, now: NIODeadline) -> Bool {
        self.window.widen(limit: limit, settleTime: settleTime, now: now)
    }

    // MARK: The search for a culprit

    /// Begins the search among `suspects` notifications, or goes on with it.
    ///
    /// - Parameter quietTime: how long the first window must be silent; nil: the peer closed without a word.
    func search(among suspects: Int, quietTime: TimeAmount?) {
        guard self.search == nil else {
            self.search?.failed(onWire: suspects, isWordless: quietTime == nil)
            return
        }
        self.search = Isolation(
            suspects: suspects,
            progress: quietTime == nil ? nil : self.window.progress,
            quietTime: quietTime
        )
    }

    /// What the outcomes of suspects mean for the search.
    enum SearchStep {
        case goOn
        /// Every suspect has its outcome.
        case end(wasWordless: Bool)
    }

    /// Notes that `count` notifications have their outcome.
    func searched(_ count: Int) -> SearchStep {
        self.search?.settled(count, onWire: self.connection.cache.unsettledCount)
        guard let search, search.isOver else { return .goOn }
        self.search = nil
        return .end(wasWordless: search.isWordless)
    }

    func endSearch() { self.search = nil }

    // MARK: The end of connections

    func disconnect() -> BinaryConnection.Closed {
        self.search?.restart()
        return self.connection.close()
    }

    /// Notes a connection that came to nothing; returns how long to wait for the next one.
    func failed(since attempt: NIODeadline, using generator: inout some RandomNumberGenerator) -> TimeAmount {
        self.failures.add(since: attempt, using: &generator)
    }

    /// Gives up on the failures so far: work that comes begins anew.
    func forgiveFailures() { self.failures.reset() }
}
