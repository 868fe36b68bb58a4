internal import FerryCore
internal import FerryPlatform
internal import FerrySQLite
internal import NIOPosix
public import ServiceLifecycle

/// A store of notifications in one SQLite file. Safe from any thread.
///
/// A receiver answers a notification with 200 only when the store has committed it, by default to the disk (`fsync`).
/// The store delivers the notification later to each destination, at least once, or sets the delivery aside after
/// many failures. The file keeps each notification for at least 180 days and 157 hours. During this time, the store
/// does not deliver a repeat by Apple or a copy from a recovery. A second file with the ending `-mark` shows whether
/// the disk has lost commits.
///
/// The file contains purchases of customers, so only its owner can read it (mode 0600).
public final class AppStoreStore: Service {
    /// The shortest time for which a notification is kept. It is the sum of two times of Apple: the history reaches
    /// back 180 days, and Apple repeats a notification for 157 hours. A notification with a waiting delivery is kept
    /// longer.
    public static let retention: Duration = .seconds((180 * 24 + 157) * 3600)
    /// The largest number of notifications that wait for the disk. The store refuses a further notification, and a
    /// receiver then answers 503.
    static let queueLimit = 4096
    /// The largest number of notifications that one transaction stores.
    private static let batchLimit = 256
    /// The largest number of notifications that one transaction removes.
    private static let removalLimit = 1000
    /// The largest number of deliveries that one transaction of ``redeliver(uuid:)`` starts again. Also the largest
    /// number of notifications that one transaction of ``deliverUnsent()`` searches.
    private static let redeliveryLimit = 1000
    /// The shortest time until a call that needs the file tries again to open it. Also the time until the store tries
    /// again to write results.
    private static let openInterval: Duration = .seconds(1)

    private struct Take: Sendable {
        var entry: StoreFile.Entry
        var continuation: CheckedContinuation<HandOverResult, Never>
    }

    private struct Queue {
        var takes: [Take] = []
        var attempts: [(StoreFile.Attempt, CheckedContinuation<Void, Never>)] = []
        var isScheduled = false
        /// Whether no further delivery begins.
        var isEnding = false
        /// Whether ``AppStoreStore/run()`` is running.
        var isDelivering = false
        var isClosed = false
    }

    /// The state of the store's thread.
    ///
    /// `@unchecked Sendable`, because only that thread uses it.
    final class Core: @unchecked Sendable {
        var file: StoreFile?
        /// The verifier that learns the certificates of the file.
        var verifier: AppStoreVerifier?
        var lastTry: ContinuousClock.Instant?
    }

    private let path: String
    /// The destinations of this process. If nil, new notifications are stored for the destinations of the last opening,
    /// and nothing is delivered.
    private let destinations: [AppStoreDestination]?
    private let onEvent: (@Sendable (AppStoreDeliveryEvent) -> Void)?
    private let durability: SQLiteDatabase.Durability
    let thread = NIOThreadPool(numberOfThreads: 1)
    let core = Core()
    private let queue = Locked(Queue())
    /// The reason why the last write of notifications or delivery results failed. Nil if no such write failed, or if
    /// a later write succeeded.
    let writeTrouble = Locked<String?>(nil)
    /// The signal that is raised after a change: a delivery that is new or begins again, the end of an attempt, a
    /// stop.
    let changes = Signal()

    /// Creates a store with this file. The file is opened by ``open()``, or by the first call that needs it.
    ///
    /// - Parameters:
    ///   - path: the file. If it does not exist, it is made.
    ///   - destinations: the destinations that get each notification while ``run()`` is running. A new destination
    ///     gets only later notifications, and those of ``deliverUnsent()``. Deliveries to a destination that is
    ///     missing in this list stay in the store.
    ///   - survivesPowerLoss: whether each commit waits for the disk (`fsync`). If false, a loss of power may lose
    ///     commits. The end of the process alone loses none.
    ///   - onEvent: gets the result of each attempt to deliver, and each failure to note results. It is called on any
    ///     thread, and must not block.
    public init(
        path: String,
        destinations: [AppStoreDestination] = [],
        survivesPowerLoss: Bool = true,
        onEvent: (@Sendable (AppStoreDeliveryEvent) -> Void)? = nil
    ) {
        self.path = path
        self.destinations = destinations
        self.onEvent = onEvent
        self.durability = survivesPowerLoss ? .power : .process
        self.thread.start()
    }

    /// Creates a store for a file whose owner is not running, to read the file or to add to it.
    package init(withoutOwner path: String) {
        self.path = path
        self.destinations = nil
        self.onEvent = nil
        self.durability = .power
        self.thread.start()
    }

    deinit { self.thread.shutdownGracefully { _ in } }

    /// Opens the file.
    ///
    /// - Returns: a sentence about something unusual; nil if nothing unusual was found, or if the file was open
    ///   already.
    /// - Throws: ``AppStoreStoreError``.
    @discardableResult
    public func open() async throws(AppStoreStoreError) -> String? {
        try await self.onThread { () throws(AppStoreStoreError) in try self.openNow() }
    }

    /// Writes the waiting notifications and delivery results, and closes the file. Later calls are refused. The
    /// results of deliveries that still run are not noted.
    public func close() async {
        self.queue.withLock { $0.isClosed = true }
        _ = try? await self.onThread { () throws(AppStoreStoreError) in
            self.work()
            self.core.file = nil
        }
        self.changes.raise()
    }

    /// Delivers to the destinations and removes old notifications, until the task is cancelled, the service group
    /// shuts down, or the store is closed.
    ///
    /// When the group shuts down, the running deliveries are completed first; each has 60 s. When the task is
    /// cancelled, the running deliveries are cancelled, too.
    public func run() async {
        self.queue.withLock { $0.isDelivering = true }
        defer {
            self.queue.withLock { $0.isDelivering = false }
            self.changes.raise()
        }
        await withGracefulShutdownHandler {
            await withTaskGroup { group in
                group.addTask { await self.removeOldHourly() }
                await withDiscardingTaskGroup { group in
                    for destination in self.destinations ?? [] {
                        let loop = DeliveryLoop(self, destination, onEvent: self.onEvent)
                        group.addTask { await loop.run() }
                    }
                    while true {
                        let seen = self.changes.count
                        guard !self.isEnding else { break }
                        await self.changes.wait(beyond: seen, limit: .seconds(3600))
                    }
                }
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.stopDelivering()
        }
    }

    /// Begins no further delivery, and waits at most `limit` for the running deliveries. If ``run()`` is not running,
    /// the call returns at once.
    package func end(within limit: Duration) async {
        self.stopDelivering()
        let end = ContinuousClock.now + limit
        while !Task.isCancelled {
            let seen = self.changes.count
            let left = end - .now
            guard self.queue.withLock(\.isDelivering), left > .zero else { break }
            await self.changes.wait(beyond: seen, limit: left)
        }
    }

    /// Begins no further delivery.
    package func stopDelivering() {
        self.queue.withLock { $0.isEnding = true }
        self.changes.raise()
    }

    /// Whether no further delivery begins.
    var isEnding: Bool { Task.isCancelled || self.queue.withLock { $0.isEnding || $0.isClosed } }

    private func removeOldHourly() async {
        while !Task.isCancelled {
            // After a full batch, more old notifications may exist. So the next batch follows without a pause.
            let count = (try? await self.removeOld()) ?? 0
            if count < Self.removalLimit { try? await Task.sleep(for: .seconds(3600)) }
        }
    }

    // MARK: On the store's thread

    private func openNow() throws(AppStoreStoreError) -> String? {
        guard self.core.file == nil else { return nil }
        if self.queue.withLock(\.isClosed) { throw Self.closed }
        self.core.lastTry = .now
        let destinations = self.destinations.map { destinations in
            destinations.map { StoreFile.Destination(name: $0.name, needsPost: $0.needsPost) }
        }
        let (file, warning) = try StoreFile.open(
            path: self.path,
            durability: self.durability,
            destinations: destinations
        )
        self.core.file = file
        self.teach()
        return warning
    }

    /// Returns the open file, or opens it. After a failure, a later call tries again, because another process may
    /// have released the file. Within a second after an attempt, the call throws without a new attempt.
    private func file() throws(AppStoreStoreError) -> StoreFile {
        if let file = self.core.file { return file }
        if let last = self.core.lastTry, .now - last < Self.openInterval {
            throw AppStoreStoreError(.inaccessible, "The store cannot be opened now.")
        }
        _ = try self.openNow()
        guard let file = self.core.file else { throw Self.closed }
        return file
    }

    private static var closed: AppStoreStoreError { AppStoreStoreError(.closed, "The store is closed.") }

    private func onThread<Result: Sendable>(
        _ body: @escaping @Sendable () throws(AppStoreStoreError) -> Result
    ) async throws(AppStoreStoreError) -> Result {
        try await self.thread.result(unless: Self.closed, of: body)
    }

    /// Stores the waiting notifications and results in batches. One commit, with one wait for the disk, then serves
    /// many of them.
    private func work() {
        while true {
            let (takes, attempts) = self.queue.withLock { queue in
                let takes = Array(queue.takes.prefix(Self.batchLimit))
                let attempts = queue.attempts
                queue.takes.removeFirst(takes.count)
                queue.attempts = []
                queue.isScheduled = !takes.isEmpty || !attempts.isEmpty
                return (takes, attempts)
            }
            guard !takes.isEmpty || !attempts.isEmpty else { return }
            self.store(takes)
            self.settle(attempts)
        }
    }

    private func store(_ takes: [Take]) {
        guard !takes.isEmpty else { return }
        let failure: String
        do throws(AppStoreStoreError) {
            let file = try self.file()
            guard file.isInPlace else {
                throw AppStoreStoreError(
                    .inaccessible,
                    "The store's file was removed or replaced while it was open: nothing is taken until a new start."
                )
            }
            let areNew: [Bool]
            do {
                areNew = try file.take(takes.map(\.entry))
            } catch {
                throw AppStoreStoreError("The store cannot be written.", error)
            }
            do { try file.advanceMark() } catch { throw AppStoreStoreError(.inaccessible, error.description) }
            self.writeTrouble.withLock { $0 = nil }
            for (take, isNew) in zip(takes, areNew) { take.continuation.resume(returning: .taken(isNew: isNew)) }
            self.changes.raise()
            return
        } catch {
            failure = error.description
        }
        self.writeTrouble.withLock { $0 = failure }
        for take in takes { take.continuation.resume(returning: .failed(failure)) }
    }

    /// Writes the results of attempts. If the write fails, for example on a full disk, the store tries again each
    /// second, until the store is closed. Until the results are written, these deliveries count as running. Otherwise
    /// they would begin again and again.
    private func settle(_ attempts: [(StoreFile.Attempt, CheckedContinuation<Void, Never>)]) {
        guard !attempts.isEmpty else { return }
        do throws(AppStoreStoreError) {
            let file = try self.file()
            do throws(SQLiteError) {
                try file.settle(attempts.map(\.0), now: Date.now.milliseconds)
            } catch {
                throw AppStoreStoreError("The store cannot note what was delivered.", error)
            }
        } catch {
            guard !self.queue.withLock(\.isClosed) else {
                for (_, continuation) in attempts { continuation.resume() }
                return
            }
            self.writeTrouble.withLock { $0 = error.description }
            self.onEvent?(.notNoted(error.description))
            Task {
                try? await Task.sleep(for: Self.openInterval)
                self.settleAgain(attempts)
            }
            return
        }
        self.writeTrouble.withLock { $0 = nil }
        for (_, continuation) in attempts { continuation.resume() }
    }

    private func settleAgain(_ attempts: [(StoreFile.Attempt, CheckedContinuation<Void, Never>)]) {
        let isTaken = self.enqueue { queue in
            queue.attempts += attempts
            return true
        }
        guard !isTaken else { return }
        for (_, continuation) in attempts { continuation.resume() }
    }

    private func enqueue(_ change: (inout Queue) -> Bool) -> Bool {
        let (isTaken, isFirst) = self.queue.withLock { queue in
            guard !queue.isClosed, change(&queue) else { return (false, false) }
            defer { queue.isScheduled = true }
            return (true, !queue.isScheduled)
        }
        if isFirst { self.thread.submit { _ in self.work() } }
        return isTaken
    }

    // MARK: Taking

    /// Stores a notification. Returns `taken` only when the notification is committed, by this call or before.
    package func take(
        _ notification: AppStoreNotification,
        post: [UInt8],
        origin: StoredNotification.Origin = .post
    ) async -> HandOverResult {
        let entry = StoreFile.Entry(
            notification: notification,
            post: post,
            origin: origin,
            received: Date.now.milliseconds
        )
        return await withCheckedContinuation { continuation in
            let isTaken = self.enqueue { queue in
                guard queue.takes.count < Self.queueLimit else { return false }
                queue.takes.append(Take(entry: entry, continuation: continuation))
                return true
            }
            if !isTaken {
                continuation.resume(returning: .failed("The store is closed, or too much waits for the disk."))
            }
        }
    }

    // MARK: Delivering

    /// Returns at most `limit` deliveries to a destination that are due now, and the next due time after now. This
    /// time is nil if no delivery is due later. Running deliveries are included. An unknown destination has no
    /// deliveries.
    func due(
        to name: String,
        limit: Int
    ) async throws(AppStoreStoreError) -> (destination: Int64, deliveries: [AppStoreDelivery], next: Date?) {
        try await self.reading { file throws(SQLiteError) in
            guard let destination = file.number(ofDestination: name) else { return (0, [], nil) }
            let (deliveries, next) = try file.due(destination, now: Date.now.milliseconds, limit: limit)
            return (destination, deliveries, next.map(Date.init(milliseconds:)))
        }
    }

    /// Writes the result of an attempt to the file. Returns when the result is committed, or when the store is closed.
    func settle(_ attempt: StoreFile.Attempt) async {
        await withCheckedContinuation { continuation in
            let isTaken = self.enqueue { queue in
                queue.attempts.append((attempt, continuation))
                return true
            }
            if !isTaken { continuation.resume() }
        }
    }

    // MARK: Reading and mending

    /// Returns notifications without their contents (``AppStoreNotification/json``), the newest first.
    ///
    /// - Parameters:
    ///   - limit: the largest number of notifications.
    ///   - before: selects notifications with a lower ``StoredNotification/number``. Pass the last number of the
    ///     previous page; nil for the first page.
    ///   - state: selects notifications that have at least one delivery in this state; nil for all notifications.
    public func list(
        limit: Int = 100,
        before: UInt64? = nil,
        state: StoredNotification.Delivery.State? = nil
    ) async throws(AppStoreStoreError) -> [StoredNotification] {
        try await self.reading { file throws(SQLiteError) in
            try file.list(limit: limit, before: before, state: state)
        }
    }

    /// Returns the notification with this key; nil if the store does not have it.
    public func notification(uuid: String) async throws(AppStoreStoreError) -> StoredNotification? {
        try await self.reading { file throws(SQLiteError) in try file.find(uuid) }
    }

    /// Starts the ended deliveries of a notification again, if they are for destinations of this process. Deliveries
    /// that still wait are not changed. ``run()`` makes the attempts.
    ///
    /// - Parameter uuid: the notification's key. If nil, all deliveries to these destinations that were set aside
    ///   begin again.
    /// - Returns: the number of deliveries that begin again; 0 if the store does not have the notification. A
    ///   notification has one delivery for each destination that the store had when the notification came.
    public func redeliver(uuid: String?) async throws(AppStoreStoreError) -> Int {
        var count = 0
        while true {
            // The work is done in parts, so that notifications can be stored between them.
            let made = try await self.reading { file throws(SQLiteError) in
                try file.redeliver(uuid, now: Date.now.milliseconds, limit: Self.redeliveryLimit)
            }
            count += made
            self.changes.raise()
            // Only a nil `uuid` needs a next part. For one notification, a next part would repeat the deliveries that
            // ended after the first part.
            guard uuid == nil, made == Self.redeliveryLimit else { return count }
        }
    }

    /// Starts deliveries to the present destinations for each notification that was never delivered and has no
    /// delivery to a present destination. Either its destinations are missing in this process, or no destination was
    /// configured when the notification came. For deliveries that were set aside, use ``redeliver(uuid:)``.
    ///
    /// - Returns: the number of notifications that get deliveries.
    public func deliverUnsent() async throws(AppStoreStoreError) -> Int {
        let last = try await self.reading { file throws(SQLiteError) in file.last }
        var count = 0
        for first in stride(from: 0, through: last, by: Self.redeliveryLimit) {
            // The work is done in parts, so that notifications can be stored between them.
            count += try await self.reading { file throws(SQLiteError) in
                let numbers = first...first + UInt64(Self.redeliveryLimit - 1)
                return try file.deliverUnsent(among: numbers, now: Date.now.milliseconds)
            }
            self.changes.raise()
        }
        return count
    }

    /// Removes at most `limit` notifications that are older than ``retention`` and wait for no delivery. Returns the
    /// number of removed notifications.
    func removeOld(limit: Int = removalLimit) async throws(AppStoreStoreError) -> Int {
        let time = Date.now.addingTimeInterval(-Self.retention.timeInterval).milliseconds
        return try await self.reading { file throws(SQLiteError) in try file.removeOld(before: time, limit: limit) }
    }

    func reading<Result: Sendable>(
        _ body: @escaping @Sendable (StoreFile) throws(SQLiteError) -> Result
    ) async throws(AppStoreStoreError) -> Result {
        try await self.onThread { () throws(AppStoreStoreError) in
            let file = try self.file()
            do throws(SQLiteError) {
                return try body(file)
            } catch {
                throw AppStoreStoreError("The store cannot be used.", error)
            }
        }
    }
}

extension AppStoreStore: AppStoreNotificationSink {
    /// Stores a notification of the history. Returns `stored` or `duplicate` only when the notification is committed.
    ///
    /// The store checks nothing, so the notification must have been verified.
    ///
    /// - Returns: ``AppStoreSinkAnswer/failed(_:)`` when the store is closed, cannot be written, or has 4096
    ///   notifications that wait for the disk. The store never returns ``AppStoreSinkAnswer/refused(_:)``.
    public func take(_ notification: AppStoreNotification, signedPayload: String) async -> AppStoreSinkAnswer {
        let post = JSONText.object([("signedPayload", JSONText.quoted(signedPayload))])
        return switch await self.take(notification, post: post, origin: .recovery) {
        case .taken(isNew: true): .stored
        case .taken(isNew: false): .duplicate
        case .failed(let reason): .failed(reason)
        }
    }
}
