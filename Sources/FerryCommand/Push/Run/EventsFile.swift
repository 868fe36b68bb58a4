internal import Ferry
internal import FerryCore
internal import NIOPosix

/// Writes one line for each outcome. For one task at a time.
///
/// It reads outcomes only when the last ones are on their way to the disk, and an outcome that is not read holds its
/// notification's place in the provider's queue: so a slow disk slows reading the input, and no memory grows.
///
/// A FIFO may have a reader that stops reading, or none. It is given up, because everything here has an end: see
/// ``Limits``.
struct EventsFile {
    struct Limits {
        /// How long a FIFO may take to get its reader when it is opened.
        var opening: Duration = .seconds(5)
        /// How long it may take nothing while the run goes on.
        var stall: Duration = .seconds(600)
        /// How long it may still be read once the run should be over: the outcomes that ended it have to get out.
        var grace: Duration = .seconds(5)
        /// When the run should be over; nil while nothing ends it.
        var runEnd: @Sendable () -> ContinuousClock.Instant? = { nil }

        /// Whether a FIFO that takes nothing since then is given up.
        func isGivenUp(_ since: ContinuousClock.Instant) -> Bool {
            let now = ContinuousClock.now
            if let end = self.runEnd(), now >= end + self.grace { return true }
            return now >= since + self.stall
        }
    }

    /// Bytes that are written at a time; outcomes may come by the hundred thousand.
    private static let chunk = 1 << 20
    /// How often who waits for a FIFO's reader looks for it.
    private static let openingInterval: Duration = .milliseconds(20)

    private let file: FileDescriptor
    private let name: String?
    private let ledger: LineLedger
    private let limits: Limits
    private var index = LineIndex()
    private var bytes: [UInt8] = []
    /// Set by the first write that failed. Nothing is written after it, but outcomes are still read.
    private(set) var failure: FileFailure?
    /// How many outcomes were written.
    private(set) var written = 0

    /// Opens the file, and empties it if it is there.
    init(path: String, ledger: LineLedger, limits: Limits) async throws(FileFailure) {
        self.file = try await Self.open(path, until: .now + limits.opening)
        self.name = FileName(path).shown
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

    /// Writes lines for outcomes, and what else has become known.
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

    /// Appends a line; returns the size of the records that need not be waited for any more.
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
