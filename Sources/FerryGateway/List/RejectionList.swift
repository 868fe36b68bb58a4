internal import DequeModule
internal import NIOCore

/// The lines that are not in the file of rejections yet, without I/O.
///
/// ```
///             ┌─────────┐ durable ┌───────┐        ┌───────────┐ in the file
///   note ────▶│ in the  │────────▶│ ready │───────▶│ under way │────────────▶ gone
///             │ journal │         └───────┘        └───────────┘
///             └─────────┘              ▲  disk full     │
///                                      └────────────────┘
/// ```
///
/// With a store, each line is a row of ``StoreTable/rejections``, in the same commit as the answer that it reports. The
/// line goes to the file once that commit is durable. If a kill loses the answer, the notification is sent again, and
/// then gets its line. A later commit removes the row, and notes the place after the line in the file. If the process
/// is killed before the later commit, the file has lines behind the noted place. The next process looks there only for
/// the lines of its first batch. So each batch waits for the later commit of the batch before it.
///
/// If another process takes the store, each line belongs to one of the two processes, except for one batch; see
/// ``leave(durable:)``.
///
/// A ``SharedStore`` is a list of rejections itself. The file then has the events of this process only, and there are
/// no rows for the next process: ``isStored`` is false.
package struct RejectionList: Sendable {
    /// The largest number of waiting lines. A million bytes are some 4,000 lines.
    package static let limit = 250_000
    /// The largest size of the waiting lines, in bytes.
    package static let lengthLimit = 128 << 20
    /// The time between two tries while the file cannot be written.
    static let retry: TimeAmount = .seconds(1)
    private static let batchCount = 512
    private static let batchLength = 256 << 10

    private struct Line {
        var number: UInt64
        var bytes: [UInt8]
        /// The segment of the journal that has the line; 0 if the line is durable or there is no store.
        var segment: UInt64
        /// The segment of the journal with the notification; nil if no segment has it.
        var notification: UInt64?

        /// Whether a store with the segments up to `durable` has the line, or its notification.
        func isKnown(durable: UInt64) -> Bool {
            self.segment <= durable || self.notification.map { $0 <= durable } ?? false
        }
    }

    private enum State {
        case good
        case refused(String, retryAt: NIODeadline)
    }

    private var format: RejectionLine
    private let limit: Int
    /// Whether a store also keeps the lines for the file.
    let isStored: Bool
    private var lines: Deque<Line> = []
    private var length = 0
    private var lastNumber: UInt64
    /// The number of lines, from the first on, that are being written to the file; nil if no batch is under way.
    private var underWay: Int?
    /// The place after the last batch; nil while no place is known.
    private var place: ListPlace?
    /// The segment of the journal that notes the place after the last batch.
    private var marked: UInt64 = 0
    private var state = State.good
    /// Whether lines were dropped since the file was last written without trouble.
    private var isOverflowing = false
    private var events: [GatewayEvent] = []

    /// - Parameters:
    ///   - clients: the names of the clients.
    ///   - firstNumber: the number of the first line. No earlier line in this store has used it.
    ///   - limit: the largest number of waiting lines. A test has a lower one.
    package init(clients: [String], firstNumber: UInt64 = 1, isStored: Bool, limit: Int = Self.limit) {
        self.format = RejectionLine(clients: clients)
        self.lastNumber = firstNumber - 1
        self.isStored = isStored
        self.limit = limit
    }

    /// Takes the clients at the start, and after each reload. Each client keeps its number.
    mutating func rename(_ identities: [ClientIdentity]) { self.format = RejectionLine(identities: identities) }

    /// Takes the rows and the place that an earlier process left.
    mutating func restore(_ rows: [StoreRow], place: ListPlace?) {
        for row in rows.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            self.lines.append(Line(number: UInt64(bigEndian: row.key), bytes: row.value, segment: 0))
            self.length += row.value.count
        }
        self.place = place
    }

    // MARK: Lines

    /// The number of lines that are not in the file.
    var count: Int { self.lines.count }

    /// Whether every line is in the file.
    var isIdle: Bool { self.lines.isEmpty && self.underWay == nil }

    /// The reason why the file cannot be written; nil while the file takes lines.
    var trouble: String? { if case .refused(let trouble, _) = self.state { trouble } else { nil } }

    /// Whether the file did not accept all lines at the last try. False while a batch is under way, and after
    /// ``tryNow()`` until the next answer.
    var isStuck: Bool {
        guard self.underWay == nil, case .refused(_, let retryAt) = self.state else { return false }
        return retryAt > .distantPast
    }

    /// Adds the line of an event, if the event has one.
    ///
    /// - Parameters:
    ///   - segment: the open segment of the journal; 0 without a store.
    ///   - seconds: the time of the event, in UNIX seconds.
    /// - Returns: the rows that change, and the number of old lines that were dropped.
    mutating func note(_ listed: ListedEvent, segment: UInt64, at seconds: UInt32) -> (rows: [StoreChange], lost: Int) {
        guard let bytes = self.format.bytes(of: listed.event, at: seconds) else { return ([], 0) }
        self.lastNumber += 1
        self.lines.append(
            Line(number: self.lastNumber, bytes: bytes, segment: segment, notification: listed.segment)
        )
        self.length += bytes.count
        var rows = [Self.row(self.lastNumber, bytes)]
        // Lines that are being written may already be in the file, so only later lines are dropped.
        let oldest = self.underWay ?? 0
        while self.lines.count > max(self.limit, oldest) || self.length > Self.lengthLimit, oldest < self.lines.count {
            let line = self.lines.remove(at: oldest)
            self.length -= line.bytes.count
            rows.append(Self.row(line.number, nil))
        }
        let lost = rows.count - 1
        if lost > 0, !self.isOverflowing {
            self.isOverflowing = true
            self.events.append(.listFull(limit: self.limit))
        }
        return (rows, lost)
    }

    private static func row(_ number: UInt64, _ bytes: [UInt8]?) -> StoreChange {
        StoreChange(.rejections, key: number.bigEndianBytes, value: bytes)
    }

    /// Leaves lines to the process that has taken the store: lines that the store has, and lines about notifications
    /// that the store has. That process writes the lines, sends the notifications again, and lists their answers. If
    /// this process wrote these lines, too, they would be in the list twice.
    ///
    /// All other lines stay here, because no other process knows of them: refusals of the gateway itself, and
    /// notifications that were given up before the store had them. A batch that is being written stays, too, because it
    /// may be in the file already.
    ///
    /// One batch may be listed by both processes. This batch is being written now, or was written after the other
    /// process took the store, before this process learned of the change. There is only one such batch, because the
    /// next batch waits for a commit, and the store's answer to the commit reports the new owner. The other process
    /// finds the lines of the batch only if they are in the file before its own first batch; see ``ListTail``.
    ///
    /// If the other process took the store during a commit, the store may have the commit without having acknowledged
    /// it. Both processes may then list the lines of this commit, but no line is lost.
    ///
    /// - Parameter durable: the last segment that the store has acknowledged.
    mutating func leave(durable: UInt64) {
        // At the end of the process, ``abandon(durable:)`` may already have dropped lines of the batch that is being
        // written. So `underWay` can be larger than the number of lines.
        let rest = self.lines[min(self.underWay ?? 0, self.lines.count)...]
        guard rest.contains(where: { $0.isKnown(durable: durable) }) else { return }
        let kept = rest.filter { !$0.isKnown(durable: durable) }
        self.lines.removeSubrange(rest.indices)
        self.lines += kept
        self.length = self.lines.reduce(0) { $0 + $1.bytes.count }
    }

    /// Drops every line that the store does not keep, because the process ends.
    ///
    /// - Parameter durable: the last segment in the store, if another process has taken the store; otherwise nil.
    /// - Returns: the number of dropped lines.
    mutating func abandon(durable: UInt64?) -> Int {
        let count = self.lines.count
        if !self.isStored {
            self.lines = []
        } else if let durable {
            self.lines.removeAll { $0.segment > durable }
        }
        return count - self.lines.count
    }

    // MARK: The file

    /// Returns the next lines for the file; nil if no line is ready, if the place after the last batch is not durable,
    /// or if the file must not be tried now.
    ///
    /// - Parameter durable: the number of the last durable segment.
    mutating func takeBatch(durable: UInt64, now: NIODeadline) -> ListBatch? {
        guard self.isReady(durable: durable) else { return nil }
        if case .refused(_, let retryAt) = self.state, now < retryAt { return nil }
        var lines: [[UInt8]] = []
        var length = 0
        // If the place after the last batch is unknown, the batch has no lines, and only asks for the place. Without
        // the place, the next process could not find out which lines the file has.
        if !self.isStored || self.place != nil {
            for line in self.lines.prefix(Self.batchCount) where line.segment <= durable {
                guard length < Self.batchLength else { break }
                lines.append(line.bytes)
                length += line.bytes.count
            }
        }
        self.underWay = lines.count
        return ListBatch(lines: lines, after: self.place)
    }

    /// Takes the file's answer to the last batch.
    ///
    /// - Parameter segment: the open segment of the journal; 0 without a store.
    /// - Returns: the rows that change.
    mutating func written(_ answer: ListAnswer, segment: UInt64, now: NIODeadline) -> [StoreChange] {
        guard let underWay else { return [] }
        self.underWay = nil
        var rows: [StoreChange] = []
        for _ in 0..<min(answer.count, underWay) {
            guard let line = self.lines.popFirst() else { break }
            self.length -= line.bytes.count
            rows.append(Self.row(line.number, nil))
        }
        if let place = answer.place, place != self.place {
            self.place = place
            rows.append(StoreChange(.list, key: Self.placeKey, value: place.bytes))
        }
        if !rows.isEmpty { self.marked = segment }
        // The file has no place, for example because the file is a FIFO. A place that matches no file is used
        // instead. So after a kill, the last lines are written a second time.
        if underWay == 0, answer.place == nil, answer.trouble == nil {
            self.place = ListPlace(device: 0, inode: 0, offset: 0)
        }
        self.note(answer.trouble, now: now)
        return rows
    }

    static let placeKey: [UInt8] = [0]

    private mutating func note(_ trouble: String?, now: NIODeadline) {
        guard let trouble else {
            if self.trouble != nil { self.events.append(.listAllClear) }
            self.state = .good
            self.isOverflowing = false
            return
        }
        if self.trouble == nil { self.events.append(.listTrouble(trouble)) }
        self.state = .refused(trouble, retryAt: now + Self.retry)
    }

    /// Allows the next try at once, without the wait of ``retry``.
    mutating func tryNow() { if let trouble { self.state = .refused(trouble, retryAt: .distantPast) } }

    /// When to call ``takeBatch(durable:now:)`` again; nil if only an input can change the result.
    func nextDeadline(durable: UInt64) -> NIODeadline? {
        guard self.isReady(durable: durable), case .refused(_, let retryAt) = self.state else { return nil }
        return retryAt
    }

    /// Whether the next batch can begin: no batch is under way, and the store has the first line and the place after
    /// the last batch.
    private func isReady(durable: UInt64) -> Bool {
        guard self.underWay == nil, self.marked <= durable, let first = self.lines.first else { return false }
        return first.segment <= durable
    }

    mutating func takeEvents() -> [GatewayEvent] {
        defer { self.events = [] }
        return self.events
    }
}
