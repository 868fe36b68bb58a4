internal import Ferry
internal import FerryCore
internal import FerryTerminal
internal import NIOPosix

/// Writes one line for each outcome. For one task at a time.
///
/// It reads outcomes only after the last ones were written. An unread outcome keeps its notification's place in the
/// provider's queue. So a slow disk slows the reading of the input, and memory does not grow.
///
/// A FIFO may have no reader, or a reader that stops reading. It is then given up after a time: see ``Limits``.
/// Otherwise the run would never end.
struct EventsFile {
    struct Limits {
        /// How long a FIFO may take to get a reader.
        var opening: Duration = .seconds(5)
        /// How long a FIFO may take no bytes during the run.
        var stall: Duration = .seconds(600)
        /// How long a FIFO may still be read after the end of the run, so that its last outcomes can be written.
        var grace: Duration = .seconds(5)
        /// The time at which the run should end. Nil while nothing ends it.
        var runEnd: @Sendable () -> ContinuousClock.Instant? = { nil }

        /// Whether to give up a FIFO that has taken no bytes since `since`.
        func isGivenUp(_ since: ContinuousClock.Instant) -> Bool {
            let now = ContinuousClock.now
            if let end = self.runEnd(), now >= end + self.grace { return true }
            return now >= since + self.stall
        }
    }

    /// The path that means standard output.
    static let standardOutput = "-"
    /// The size in bytes at which lines are written at once. Outcomes may come by the hundred thousand.
    private static let chunk = 1 << 20
    /// The interval at which the opening of a FIFO is tried again.
    private static let openingInterval: Duration = .milliseconds(20)

    private let file: FileDescriptor
    private let name: String?
    private let ledger: LineLedger
    private let limits: Limits
    private var index = LineIndex()
    private var bytes: [UInt8] = []
    /// The first failed write. After it nothing is written, but outcomes are still read.
    private(set) var failure: FileFailure?
    /// The number of outcomes that were written.
    private(set) var written = 0

    /// Opens the file. Empties an existing file.
    init(path: String, ledger: LineLedger, limits: Limits) async throws(FileFailure) {
        let isStandardOutput = path == Self.standardOutput
        self.file = isStandardOutput ? .standardOutput : try await Self.open(path, until: .now + limits.opening)
        self.name = isStandardOutput ? "standard output" : FileName(path).shown
        self.ledger = ledger
        self.limits = limits
    }

    private static func open(
        _ path: String,
        until deadline: ContinuousClock.Instant
    ) async throws(FileFailure) -> FileDescriptor {
        while true {
            do throws(FileFailure) {
                return try .writing(path)
            } catch {
                guard error.reason == .unread, .now < deadline, !Task.isCancelled else { throw error }
                try? await Task.sleep(for: Self.openingInterval)
            }
        }
    }

    /// Writes lines for outcomes and for contradictions.
    mutating func write(_ outcomes: [OutcomeRecord]) async {
        guard self.failure == nil else { return }
        let news = self.ledger.take()
        for records in news.records { self.index.append(records) }
        var settled = 0
        for record in outcomes {
            settled += self.append(record)
            if self.bytes.count >= Self.chunk { await self.flush() }
        }
        self.ledger.release(settled)
        for contradiction in news.contradictions { await self.append(contradiction) }
        await self.flush()
    }

    /// Appends a line. Returns the size of the records that may be released.
    private mutating func append(_ record: OutcomeRecord) -> Int {
        let line = record.tag.rawValue
        guard let records = self.index.find(line) else { return 0 }
        let isKnown = records.withBeginning(of: line) { self.bytes.append(contentsOf: $0) }
        guard isKnown else { return 0 }
        EventLine.append(record, to: &self.bytes)
        self.written += 1
        return self.index.settle(records)
    }

    private mutating func append(_ contradiction: Contradiction) async {
        let suspects = contradiction.upTo > contradiction.count ? contradiction.upTo : nil
        for tag in contradiction.tags {
            let records = self.index.find(tag.rawValue)
            let isKnown = records?.withBeginning(of: tag.rawValue) { self.bytes.append(contentsOf: $0) } ?? false
            self.bytes.append(UInt8(ascii: isKnown ? "," : "{"))
            EventLine.append(contradiction.kind, line: tag.rawValue + 1, suspects: suspects, to: &self.bytes)
            if self.bytes.count >= Self.chunk { await self.flush() }
        }
        let unnamed = contradiction.upTo - contradiction.tags.count
        guard unnamed > 0 else { return }
        self.bytes.append(UInt8(ascii: "{"))
        EventLine.append(contradiction.kind, line: nil, count: unnamed, suspects: suspects, to: &self.bytes)
    }

    private mutating func flush() async {
        guard !self.bytes.isEmpty, self.failure == nil else { return }
        let (file, bytes, limits) = (self.file, self.bytes, self.limits)
        self.bytes = []
        self.bytes.reserveCapacity(bytes.count)
        do {
            try await NIOThreadPool.singleton.runIfActive {
                try bytes.withUnsafeBytes { try file.writeAll($0, unless: limits.isGivenUp) }
            }
        } catch {
            self.failure = FileFailure(self.name, reason: (error as? FileFailure)?.reason ?? .system(0))
        }
    }
}
