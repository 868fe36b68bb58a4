internal import Ferry
internal import FerryCore

/// Reads lines and submits what they say, until the input ends or ``PushStop`` says so.
struct LineFeeder {
    /// Lines that are submitted together at most. What is in memory is never held back for more.
    static let batchLimit = 4096
    /// Bytes of records, at which lines are submitted though they are fewer.
    static let recordLimit = 1 << 20

    let reader: LineReader
    let provider: any PushProvider
    /// Gets the records of lines; nil when nobody wants them.
    let ledger: LineLedger?
    let stop: PushStop
    /// Whether a bad line ends the input.
    let isStrict: Bool
    /// Notifications a second; nil for as many as possible.
    let rate: Double?
    /// The topic of lines that name none; nil where the provider knows it.
    let topic: String?
    let check: LineCheck
    /// Gets messages for people.
    let say: @Sendable (String) -> Void

    /// What was read.
    struct Result: Equatable, Sendable {
        var submitted = 0
        var badLines = 0
        /// Lines, with those that are bad or blank.
        var lines: UInt64 = 0
        /// Whether a bad line ended the input.
        var endedBadly = false
        /// The number of the last line before the first that was stopped on its way out; nil when none was.
        var stoppedAfter: UInt64?
        /// Whether the input was read to its end.
        var hasReachedEnd = false

        /// Where to go on after a run that was stopped: behind this line. Nil when nothing is left to be sent.
        var interruptedAfter: UInt64? { self.stoppedAfter ?? (self.hasReachedEnd ? nil : self.lines) }
    }

    /// Reads all there is. What was submitted before the input could not be read any more was submitted.
    func run() async -> (Result, (any Error)?) {
        var lines = LineInspector(
            self.reader,
            topic: self.topic,
            check: self.check,
            isStrict: self.isStrict,
            say: self.say
        )
        var result = Result()
        let failure = await self.feed(&lines, &result)
        result.lines = lines.count
        result.badLines = lines.badCount
        result.endedBadly = lines.endedBadly
        return (result, failure)
    }

    /// - Returns: why the input could not be read to its end; nil when it was, or when something else ended it.
    private func feed(_ lines: inout LineInspector, _ result: inout Result) async -> (any Error)? {
        var pacer = self.rate.map { Pacer(perSecond: $0, now: .now) }
        let limit = pacer?.batch ?? Self.batchLimit
        var batch = PushBatch(capacity: limit)
        var records: LineRecords?
        while true {
            while !self.stop.isSet, let (index, line) = lines.next() {
                if self.ledger != nil {
                    if records == nil { records = LineRecords(first: index, capacity: min(limit, 1024)) }
                    records?.append(index, ref: line.ref, hex: line.hex)
                }
                let isTaken = Self.append(line, tag: index, to: &batch)
                guard isTaken, batch.count == limit || records?.size ?? 0 >= Self.recordLimit else { continue }
                await self.submit(&batch, &records, &pacer, &result)
            }
            await self.submit(&batch, &records, &pacer, &result)
            if self.stop.isSet || lines.endedBadly { return nil }
            do {
                guard try await lines.fill() else {
                    result.hasReachedEnd = !self.reader.wasInterrupted
                    return nil
                }
            } catch {
                return self.stop.isSet ? nil : error
            }
        }
    }

    private static func append(_ line: PushLine, tag: UInt64, to batch: inout PushBatch) -> Bool {
        // Only a batch of 4 GiB is refused, and none of lines gets there.
        batch.append(
            token: line.token,
            payload: line.payload,
            topic: line.topic,
            collapseID: line.collapseID,
            apnsID: line.apnsID,
            pushType: line.pushType,
            priority: line.priority,
            expiration: line.expiration,
            tag: tag
        )
    }

    /// Submits the batch, when it is its time. What the provider does not take was not submitted.
    private func submit(
        _ batch: inout PushBatch,
        _ records: inout LineRecords?,
        _ pacer: inout Pacer?,
        _ result: inout Result
    ) async {
        guard !batch.isEmpty else { return }
        if let time = pacer?.time(for: batch.count, now: .now), time > .now {
            try? await Task.sleep(until: time, tolerance: .zero, clock: .continuous)
        }
        if let records, let ledger, !self.stop.isSet {
            await ledger.waitForRoom()
            if !self.stop.isSet { ledger.publish(records) }
        }
        if self.stop.isSet {
            result.stoppedAfter = batch.firstTag
            return
        }
        records = nil
        let count = batch.count
        do throws(SubmitError) {
            try await self.provider.submit(&batch)
        } catch {
            // The provider was shut down, which ends the input too.
        }
        result.submitted += count - batch.count
        // A line's index is the number of the line before it.
        result.stoppedAfter = batch.firstTag
    }
}

extension PushBatch {
    /// The tag of the notification that would be taken next.
    fileprivate var firstTag: UInt64? { self.isEmpty ? nil : self.storage.entries[self.start].tag }
}
