internal import Ferry
internal import FerryPlatform
internal import FerryTerminal
internal import Synchronization

/// One run of `ferry push`: from the first line to the last outcome.
struct PushRun {
    /// The largest number of the provider's events that wait to be read. Only contradictions and errors matter.
    private static let eventLimit = 65_536

    var backend: PushBackend
    var input: LineReader
    /// The payload of lines that are device tokens. Nil: a line is an object.
    var payload: [UInt8]?
    /// The path of the events file.
    var events: String?
    var proof = Proof.automatic
    /// How long outcomes may take after the end of the input.
    var drainLimit: Duration = .seconds(600)
    var isStrict = false
    var rate: Double?
    /// How the progress is shown. Nil: not at all.
    var progress: ProgressDisplay?
    /// Whether to report events of the provider.
    var isVerbose = false
    /// Receives messages for people.
    var say: @Sendable (String) -> Void = { Console.error($0) }

    struct Result: Sendable {
        var summary: PushSummary
        var status: ExitStatus
        /// The causes for which notifications were not accepted, for people. Nil if all were accepted.
        var causes: String?
        /// The problems of the run, one sentence each.
        var complaints: [String]
    }

    /// - Throws: ``CommandFailure`` when the run cannot begin.
    func run() async throws -> Result {
        let ledger = self.events.map { _ in LineLedger() }
        let tally = OutcomeTally(resendsUnknown: self.backend.resendsUnknown)
        let provider = try self.backend.makeProvider(ledger == nil ? .sink(tally) : .stream)
        let happenings = provider.eventsWithoutTransmitted(bufferingNewest: Self.eventLimit)
        let stop = PushStop(provider, proof: self.proof)
        let file = try await self.openEvents(ledger, stop)
        let watch = PushWatch(
            stop: stop,
            ledger: ledger,
            hasFallback: self.backend.hasFallback,
            say: self.isVerbose ? self.say : nil,
            warn: self.say
        )
        let watching = Task {
            for await event in happenings { watch.note(event) }
        }
        let writing = file.map { file in
            Task { await Self.write(provider.outcomes, to: file, tally, watching, stop) }
        }
        let say = self.say
        let signals = Signals { count in
            if count == 1 { say("ferry: interrupted; waiting for outcomes, until you interrupt once more") }
            stop.interrupt(count)
        }
        let migrating = provider as? MigratingProvider
        let following = migrating.flatMap { self.follow($0) }
        let position = FeedPosition(length: self.input.length)
        let progress = PushProgress(provider: provider, watch: watch, position: position)
        let shown = self.progress?.show { progress.now }

        let start = ContinuousClock.now
        let (fed, failure) = await self.feed(provider, ledger, stop, position)
        if self.isVerbose, fed.hasReachedEnd { self.say("the input was read to its end") }
        let report = await stop.finish(within: self.drainLimit)
        let end = ContinuousClock.now
        await watching.value
        let written = await writing?.value
        await shown?.end()
        following?.cancel()
        await following?.value
        withExtendedLifetime(signals) {}

        let summary = PushSummary(
            submitted: fed.submitted,
            outcomes: report.outcomes,
            unproved: report.unproved?.count ?? 0,
            contradicted: report.contradicted,
            resent: report.resent,
            badLines: fed.badLines,
            duration: end - start,
            migration: migrating?.report
        )
        if summary.outcomes.settled != summary.submitted || written?.count ?? summary.submitted != summary.submitted {
            self.say("ferry: outcomes are missing; this is a fault of Ferry's, please report it")
        }
        for side in ProviderSide.allCases {
            guard let forced = summary.migration?.life[side].forced, forced > 0 else { continue }
            self.say(
                "ferry: \(forced) went over \(side), because \(side.other) cannot take them: a topic, a push type or the length"
            )
        }
        if let unproved = report.unproved {
            self.say("ferry: \(unproved.count) of the acceptances rest on silence alone: \(unproved.cause)")
        }
        if file != nil, watch.contradicted < report.contradicted {
            let missing = report.contradicted - watch.contradicted
            self.say("ferry: \(missing) of the contradicted outcomes have no line in the events, which came too fast")
        }
        let verdict = PushVerdict(
            summary: summary,
            fed: fed,
            inputFailure: failure,
            eventsFailure: written?.failure,
            cause: stop.cause,
            connection: watch.connection,
            refusal: watch.refusal,
            lack: watch.lack,
            hasIdentity: self.backend.hasIdentity,
            isWithoutAnswer: self.backend.isBinary && tally.isOnlyOfLostConnections
        )
        return Result(
            summary: summary,
            status: verdict.status,
            causes: tally.table,
            complaints: verdict.complaints
        )
    }

    /// Lets the share follow its file.
    private func follow(_ provider: MigratingProvider) -> Task<Void, Never>? {
        guard var file = self.backend.shareFile else { return nil }
        let say = self.say
        return Task { await file.follow(provider, say: say) }
    }

    private func openEvents(_ ledger: LineLedger?, _ stop: PushStop) async throws -> EventsFile? {
        guard let events, let ledger else { return nil }
        if let user = self.otherUser(of: events) {
            throw CommandFailure.usage("The events would overwrite \(user); give --events a file of its own.")
        }
        let limits = EventsFile.Limits(runEnd: { stop.end })
        do {
            return try await EventsFile(path: events, ledger: ledger, limits: limits)
        } catch {
            throw CommandFailure.usage("The events cannot be written: \(error)")
        }
    }

    /// Names the other use of the events file; nil if the file has no other.
    private func otherUser(of events: String) -> String? {
        let isStandardOutput = events == EventsFile.standardOutput
        let file = isStandardOutput ? FileIdentity(descriptor: STDOUT_FILENO) : FileIdentity(path: events)
        guard let file else { return nil }
        if file == self.input.identity { return "the input" }
        if let share = self.backend.shareFile, file == FileIdentity(path: share.file.path) { return "the share file" }
        // The summary goes to standard error then.
        if isStandardOutput { return nil }
        // A FIFO may have two writers, because their lines do not overwrite each other.
        guard file.isRegular else { return nil }
        if file == FileIdentity(descriptor: STDOUT_FILENO) { return "the summary on standard output" }
        if file == FileIdentity(descriptor: STDERR_FILENO) { return "the messages on standard error" }
        return nil
    }

    /// Reads and submits all input, in a task that can be cancelled.
    private func feed(
        _ provider: any PushProvider,
        _ ledger: LineLedger?,
        _ stop: PushStop,
        _ position: FeedPosition
    ) async -> (LineFeeder.Result, (any Error)?) {
        let feeder = LineFeeder(
            reader: self.input,
            provider: provider,
            ledger: ledger,
            stop: stop,
            isStrict: self.isStrict,
            rate: self.rate,
            topic: self.backend.topic,
            payload: self.payload,
            check: self.backend.check,
            say: self.say,
            position: position
        )
        let reading = Task { await feeder.run() }
        let reader = self.input
        stop.onStop {
            reader.interrupt()
            reading.cancel()
        }
        return await reading.value
    }

    /// The result of writing events.
    private struct Written: Sendable {
        var failure: FileFailure?
        /// The number of outcomes with a line. Nil if writing failed.
        var count: Int?
    }

    /// Writes outcomes as they come.
    private static func write(
        _ outcomes: OutcomeStream,
        to file: EventsFile,
        _ tally: OutcomeTally,
        _ watching: Task<Void, Never>,
        _ stop: PushStop
    ) async -> Written {
        var file = file
        var iterator = outcomes.makeAsyncIterator()
        var hasFailed = false
        while true {
            let batch = await iterator.nextBatch()
            if batch.isEmpty { break }
            tally.settled(batch.span)
            await file.write(batch)
            if let failure = file.failure, !hasFailed {
                hasFailed = true
                stop.fail(failure)
            }
        }
        // Contradictions may come after the last outcome.
        await watching.value
        await file.write([])
        return Written(failure: file.failure, count: file.failure == nil ? file.written : nil)
    }
}
