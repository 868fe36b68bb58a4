internal import DequeModule
internal import NIOCore

/// The lines that the file of the list of rejections does not have yet, without I/O.
///
/// ```
///             ┌─────────┐ durable ┌───────┐        ┌───────────┐ in the file
///   note ────▶│ in the  │────────▶│ ready │───────▶│ under way │────────────▶ gone
///             │ journal │         └───────┘        └───────────┘
///             └─────────┘              ▲  disk full     │
///                                      └────────────────┘
/// ```
///
/// With a store, each line is a row of ``StoreTable/rejections``, in the commit of the answer that it tells. It goes to the
/// file when that commit is durable: a notification whose answer a kill has lost goes out again, and gets its line then. The
/// row goes in a later commit, with the place of its end in the file. If the process is killed between these two, the file
/// has lines behind that place, and the next process finds them there. So the next batch waits for that commit.
package struct RejectionList: Sendable {
    /// The lines that may wait. A million bytes are some 4,000 lines.
    package static let limit = 250_000
    package static let lengthLimit = 128 << 20
    /// The time between two tries while the file cannot be written.
    static let retry: TimeAmount = .seconds(1)
    private static let batchCount = 512
    private static let batchLength = 256 << 10

    private struct Line {
        var number: UInt64
        var bytes: [UInt8]
        /// The segment of the journal that has it; 0: it is durable, or there is no store.
        var segment: UInt64
    }

    private enum State {
        case good
        case refused(retryAt: NIODeadline)
    }

    private let format: RejectionLine
    private let limit: Int
    /// Whether a store keeps the lines, too.
    let isStored: Bool
    private var lines: Deque<Line> = []
    private var length = 0
    private var lastNumber: UInt64
    /// The number of first lines in the batch that the file is getting; nil: no batch is under way.
    private var underWay: Int?
    /// The end of the last batch.
    private var place: ListPlace?
    /// The segment with the end of the last batch.
    private var marked: UInt64 = 0
    private var state = State.good
    /// Whether lines were given up since the file was good.
    private var isOverflowing = false
    private var events: [GatewayEvent] = []

    /// - Parameters:
    ///   - clients: the names of the clients.
    ///   - firstNumber: of a line. With this store, no line ever had it.
    ///   - limit: a test has a lower one.
    package init(clients: [String], firstNumber: UInt64 = 1, isStored: Bool, limit: Int = Self.limit) {
        self.format = RejectionLine(clients: clients)
        self.lastNumber = firstNumber - 1
        self.isStored = isStored
        self.limit = limit
    }

    /// Takes what an earlier process left.
    mutating func restore(_ rows: [StoreRow], place: ListPlace?) {
        for row in rows.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            self.lines.append(Line(number: UInt64(bigEndian: row.key), bytes: row.value, segment: 0))
            self.length += row.value.count
        }
        self.place = place
    }

    // MARK: Lines

    /// The lines that the file does not have.
    var count: Int { self.lines.count }

    /// Whether the file has everything.
    var isIdle: Bool { self.lines.isEmpty && self.underWay == nil }

    private var isInTrouble: Bool { if case .refused = self.state { true } else { false } }

    /// Whether the file took nothing at the last try.
    var isStuck: Bool {
        guard self.underWay == nil, case .refused(let retryAt) = self.state else { return false }
        return retryAt > .distantPast
    }

    /// Notes the line of an event, if it has one.
    ///
    /// - Parameters:
    ///   - segment: the open segment of the journal; 0 without one.
    ///   - seconds: UNIX seconds.
    /// - Returns: the rows that change, and how many lines were given up for it.
    mutating func note(_ event: GatewayEvent, segment: UInt64, at seconds: UInt32) -> (rows: [StoreChange], lost: Int) {
        guard let bytes = self.format.bytes(of: event, at: seconds) else { return ([], 0) }
        self.lastNumber += 1
        self.lines.append(Line(number: self.lastNumber, bytes: bytes, segment: segment))
        self.length += bytes.count
        var rows = [Self.row(self.lastNumber, bytes)]
        // Lines that are under way may be in the file already.
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

    /// Gives up every line: the process ends, and no store has them.
    ///
    /// - Returns: how many.
    mutating func abandon() -> Int {
        guard !self.isStored else { return 0 }
        defer { self.lines = [] }
        return self.lines.count
    }

    // MARK: The file

    /// Returns the next lines for the file; nil: none are ready, or it must not be asked now.
    ///
    /// - Parameter durable: the last segment that the store has.
    mutating func takeBatch(durable: UInt64, now: NIODeadline) -> ListBatch? {
        guard self.underWay == nil, self.marked <= durable, let first = self.lines.first, first.segment <= durable
        else {
            return nil
        }
        if case .refused(let retryAt) = self.state, now < retryAt { return nil }
        var lines: [[UInt8]] = []
        var length = 0
        // Without the place of its end, the next process could not tell which lines the file has.
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

    /// Takes the answer of the file to the last batch.
    ///
    /// - Parameter segment: the open segment of the journal; 0 without one.
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
        // A file without a place, such as a FIFO: after a kill, its last lines come twice.
        if underWay == 0, answer.place == nil, answer.trouble == nil {
            self.place = ListPlace(device: 0, inode: 0, offset: 0)
        }
        self.note(answer.trouble, now: now)
        return rows
    }

    static let placeKey: [UInt8] = [0]

    private mutating func note(_ trouble: String?, now: NIODeadline) {
        guard let trouble else {
            if self.isInTrouble { self.events.append(.listAllClear) }
            self.state = .good
            self.isOverflowing = false
            return
        }
        if !self.isInTrouble { self.events.append(.listTrouble(trouble)) }
        self.state = .refused(retryAt: now + Self.retry)
    }

    /// Lets the file be tried at once.
    mutating func tryNow() { if self.isInTrouble { self.state = .refused(retryAt: .distantPast) } }

    /// When to call ``takeBatch(durable:now:)`` again; nil: only inputs change anything.
    var nextDeadline: NIODeadline? {
        guard self.underWay == nil, !self.lines.isEmpty, case .refused(let retryAt) = self.state else { return nil }
        return retryAt
    }

    mutating func takeEvents() -> [GatewayEvent] {
        defer { self.events = [] }
        return self.events
    }
}
