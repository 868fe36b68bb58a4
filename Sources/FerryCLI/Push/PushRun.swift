internal import Ferry
internal import Synchronization

/// One run of `ferry push`: from the first line to the last outcome.
struct PushRun {
    var configuration: BinaryConfiguration
    var input: LineReader
    /// The file for outcomes.
    var events: String?
    var proof = Proof.silence
    /// How long outcomes may take to come once the input has ended.
    var drainLimit: Duration = .seconds(600)
    var isStrict = false
    var rate: Double?
    var topic: String?
    /// Whether to show how it goes.
    var showsProgress = false
    /// Whether to say what happens at the provider.
    var isVerbose = false
    /// Gets messages for people.
    var say: @Sendable (String) -> Void = { Console.error($0) }

    struct Result: Sendable {
        var summary: PushSummary
        var status: ExitStatus
        /// Why the run did not go well, in one sentence.
        var complaint: String?
    }

    /// How many events of the provider may wait to be looked at. Only contradictions and errors matter.
    private static let eventLimit = 65_536

    /// - Throws: ``CommandFailure`` when the run cannot begin.
    func run() async throws -> Result {
        let ledger = LineLedger()
        let file = try self.openEvents(ledger)
        var configuration = self.configuration
        configuration.outcomes = file == nil ? .discard : .stream
        let provider: BinaryProvider
        do {
            provider = try BinaryProvider(configuration)
        } catch {
            throw CommandFailure.usage(error.description)
        }
        let stop = PushStop(provider, proof: self.proof)
        let watch = PushWatch(stop: stop, ledger: ledger, say: self.isVerbose ? self.say : nil)
        let watching = Task { [events = provider.events(bufferingNewest: Self.eventLimit)] in
            for await event in events { watch.note(event) }
        }
        let writing = file.map { file in
            Task { await Self.write(provider.outcomes, to: file, watching, stop) }
        }
        let say = self.say
        let signals = Signals { count in
            if count == 1 { say("ferry: interrupted; waiting for outcomes, until you interrupt once more") }
            stop.interrupt(count)
        }
        let progress = self.showsProgress ? PushProgress.task(provider, watch) : nil

        let start = ContinuousClock.now
        let (fed, failure) = await self.feed(provider, file == nil ? nil : ledger, stop)
        let report = await provider.shutdown(within: self.drainLimit, proof: self.proof)
        let end = ContinuousClock.now
        await watching.value
        let written = await writing?.value
        progress?.cancel()
        await progress?.value
        withExtendedLifetime(signals) {}

        let summary = PushSummary(
            submitted: fed.submitted,
            outcomes: report.outcomes,
            contradicted: report.contradicted,
            resent: report.resent,
            badLines: fed.badLines,
            duration: end - start
        )
        if summary.outcomes.settled != summary.submitted || written ?? summary.submitted != summary.submitted {
            self.say("ferry: outcomes are missing; this is a fault of Ferry's, please report it")
        }
        return self.judge(summary, fed, failure, stop.cause, watch.connectionError)
    }

    private func openEvents(_ ledger: LineLedger) throws -> EventsFile? {
        do {
            return try self.events.map { try EventsFile(path: $0, ledger: ledger) }
        } catch {
            throw CommandFailure.usage("The events cannot be written: \(error)")
        }
    }

    /// Reads and submits all input, in a task that can be stopped.
    private func feed(
        _ provider: BinaryProvider,
        _ ledger: LineLedger?,
        _ stop: PushStop
    ) async -> (LineFeeder.Result, (any Error)?) {
        let feeder = LineFeeder(
            reader: self.input,
            provider: provider,
            ledger: ledger,
            stop: stop,
            isStrict: self.isStrict,
            rate: self.rate,
            topic: self.topic,
            say: self.say
        )
        let reading = Task { await feeder.run() }
        let reader = self.input
        stop.onStop {
            reader.interrupt()
            reading.cancel()
        }
        return await reading.value
    }

    /// Writes outcomes as they come; returns how many were written.
    private static func write(
        _ outcomes: OutcomeStream,
        to file: EventsFile,
        _ watching: Task<Void, Never>,
        _ stop: PushStop
    ) async -> Int? {
        var file = file
        var iterator = outcomes.makeAsyncIterator()
        var hasFailed = false
        while true {
            let batch = await iterator.nextBatch()
            if batch.isEmpty { break }
            await file.write(batch)
            if let failure = file.failure, !hasFailed {
                hasFailed = true
                stop.fail(failure)
            }
        }
        // Late news may have come after the last outcome.
        await watching.value
        await file.write([])
        return file.failure == nil ? file.written : nil
    }

    private func sentence(_ error: ProviderError) -> String {
        ConnectionAdvice.sentence(error, hasIdentity: self.configuration.identity != nil)
    }

    private func judge(
        _ summary: PushSummary,
        _ fed: LineFeeder.Result,
        _ failure: (any Error)?,
        _ cause: PushStop.Cause?,
        _ connectionError: ProviderError?
    ) -> Result {
        var result = Result(summary: summary, status: summary.isAllAccepted ? .success : .notAllAccepted)
        switch cause {
        case .failed(let error):
            (result.status, result.complaint) = (.noConnection, self.sentence(error))
        case .events(let failure):
            (result.status, result.complaint) = (.badUsage, "The events cannot be written: \(failure)")
        case .interrupted, nil:
            if case .interrupted = cause, failure == nil, !fed.endedBadly, let line = fed.interruptedAfter {
                result.status = .notAllAccepted
                let place = line == 0 ? "before the first line" : "after line \(line)"
                result.complaint = "Interrupted; stopped \(place). What follows was not sent."
            } else if let failure {
                (result.status, result.complaint) = (.badUsage, "The input cannot be read: \(failure)")
            } else if fed.endedBadly {
                (result.status, result.complaint) = (.badUsage, "Line \(fed.lines) is bad; nothing after it was sent.")
            } else if let connectionError, summary.outcomes.undelivered > 0 {
                (result.status, result.complaint) = (.noConnection, self.sentence(connectionError))
            }
        }
        return result
    }
}
