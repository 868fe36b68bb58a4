internal import Ferry
internal import FerryCore

/// Reads lines and submits their notifications, until the input ends or ``PushStop`` is set.
struct LineFeeder {
    /// The largest batch. Lines in memory never wait for a full batch.
    static let batchLimit = 4096
    /// The size of records, in bytes, at which a smaller batch is submitted.
    static let recordLimit = 1 << 20

    let reader: LineReader
    let provider: any PushProvider
    /// Receives the records of lines. Nil without an events file.
    let ledger: LineLedger?
    let stop: PushStop
    /// Whether a bad line ends the input.
    let isStrict: Bool
    /// The rate in notifications a second. Nil: no limit.
    let rate: Double?
    /// The topic of lines without one. Nil if the provider supplies it.
    let topic: String?
    /// The payload of lines that are device tokens. Nil: a line is an object.
    var payload: [UInt8]?
    let check: LineCheck
    /// Receives messages for people.
    let say: @Sendable (String) -> Void
    /// Receives the place in the input.
    var position: FeedPosition?

    /// The counts of the input.
    struct Result: Equatable, Sendable {
        var submitted = 0
        var badLines = 0
        /// The number of all lines, including bad and blank ones.
        var lines: UInt64 = 0
        /// Whether a bad line ended the input.
        var endedBadly = false
        /// The number of the line before the first that could not be submitted. Nil if all were submitted.
        var stoppedAfter: UInt64?
        var hasReachedEnd = false

        /// The line after which a stopped run can continue. Nil if nothing is left to send.
        var interruptedAfter: UInt64? { self.stoppedAfter ?? (self.hasReachedEnd ? nil : self.lines) }
    }

    /// Reads all input. If reading fails, the lines before the failure have been submitted.
    func run() async -> (Result, (any Error)?) {
        var lines = LineInspector(
            self.reader,
            topic: self.topic,
            payload: self.payload,
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

    /// - Returns: the error of reading. Nil if the input ended, if a bad line ended it, or if the run was stopped.
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
        // A batch refuses a notification only at 4 GiB. A batch of lines never becomes so large.
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

    /// Waits for the pacer and for room in the ledger, then submits the batch. Notifications that the provider does
    /// not take are not counted as submitted.
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
            // The provider was shut down. That ends the input too.
        }
        result.submitted += count - batch.count
        self.position?.move(to: self.reader.position, submitted: result.submitted)
        // The index of a line is the number of the line before it.
        result.stoppedAfter = batch.firstTag
    }
}

extension PushBatch {
    /// The tag of the next notification.
    fileprivate var firstTag: UInt64? { self.isEmpty ? nil : self.storage.entries[self.start].tag }
}
