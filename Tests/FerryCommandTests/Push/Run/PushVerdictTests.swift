import Ferry
import FerryTerminal
import Testing

@testable import FerryCommand

@Suite struct PushVerdictTests {
    static let refused = ProviderError(.connectFailed, "No connection.")

    /// The verdict on a run of three lines. Either all were accepted or all were undelivered.
    static func verdict(
        delivered: Bool = true,
        cause: PushStop.Cause? = nil,
        connection: PushWatch.Connection = .made
    ) -> PushVerdict {
        var outcomes = OutcomeCounts()
        if delivered { outcomes.presumed = 3 } else { outcomes.undelivered = 3 }
        var fed = LineFeeder.Result()
        fed.submitted = 3
        fed.lines = 3
        fed.hasReachedEnd = true
        return PushVerdict(
            summary: PushSummary(submitted: 3, outcomes: outcomes),
            fed: fed,
            cause: cause,
            connection: connection
        )
    }

    @Test func `a good run has nothing to complain of`() {
        #expect(Self.verdict().status == .success)
        #expect(Self.verdict().complaints == [])
    }

    @Test func `what was not delivered is told by the summary alone`() {
        #expect(Self.verdict(delivered: false).status == .notAllAccepted)
        #expect(Self.verdict(delivered: false).complaints == [])
    }

    @Test func `no connection is status 3, whatever ended the run`() {
        for cause in [nil, .interrupted, .events(FileFailure("x", code: 1))] as [PushStop.Cause?] {
            let failed = Self.verdict(delivered: false, cause: cause, connection: .failed(Self.refused))
            #expect(failed.status == .noConnection)
            #expect(failed.complaints == ["No connection."])
            let none = Self.verdict(delivered: false, cause: cause, connection: .none)
            #expect(none.status == .noConnection)
            #expect(none.complaints == ["There was no connection when the run ended."])
        }
    }

    @Test func `a run that had no provider token and delivered nothing is status 3, and a moment without one is not`() {
        let lack = ProviderError(.noProviderToken, "There is none.")
        var verdict = Self.verdict(delivered: false)
        verdict.lack = lack
        #expect(verdict.status == .noConnection)
        #expect(verdict.complaints == ["There is none."])
        verdict = Self.verdict()
        verdict.lack = lack
        #expect(verdict.status == .success)
        #expect(verdict.complaints == [])
    }

    @Test func `a peer that only closes connections may be a gateway with an alarm, or none`() {
        var verdict = Self.verdict()
        verdict.summary.outcomes = OutcomeCounts()
        verdict.summary.outcomes.uncertain = 3
        verdict.isWithoutAnswer = true
        #expect(verdict.status == .notAllAccepted)
        #expect(verdict.complaints.count == 1)
        #expect(
            verdict.complaints.first?.hasPrefix(
                "No connection brought an answer: the peer closes each one without a word. A gateway does so while it has an "
                    + "alarm for the client's topic: ferry gateway names it on standard error. A feedback service does so"
            ) == true
        )
        verdict.summary.outcomes.presumed = 1
        #expect(verdict.complaints == [])
        verdict.summary.outcomes.presumed = 0
        verdict.cause = .interrupted
        #expect(verdict.complaints == [])
    }

    @Test func `an error that ended the run is told once`() {
        let verdict = Self.verdict(
            delivered: false,
            cause: .failed(Self.refused),
            connection: .failed(ProviderError(.connectFailed, "The same in other words."))
        )
        #expect(verdict.status == .noConnection)
        #expect(verdict.complaints == ["No connection."])
    }

    @Test func `an error that ended the run says where to go on, if something is left`() {
        var verdict = Self.verdict(delivered: false, cause: .failed(Self.refused))
        verdict.fed.hasReachedEnd = false
        #expect(verdict.complaints == ["No connection.", "The run stopped after line 3. What follows was not sent."])
    }

    @Test func `an interrupt says where to go on, if something is left`() {
        var verdict = Self.verdict(cause: .interrupted)
        #expect(verdict.status == .success)
        verdict.fed.hasReachedEnd = false
        #expect(verdict.status == .notAllAccepted)
        #expect(verdict.complaints == ["Interrupted; stopped after line 3. What follows was not sent."])
        verdict.fed.stoppedAfter = 0
        #expect(verdict.complaints == ["Interrupted; stopped before the first line. What follows was not sent."])
    }

    @Test func `refused credentials are status 3 where nothing was accepted, and told once`() {
        var verdict = Self.verdict(delivered: false)
        verdict.refusal = Rejection(reason: .missingProviderToken, origin: .apns, status: 403)
        #expect(verdict.status == .noConnection)
        #expect(verdict.complaints.count == 1)
        #expect(verdict.complaints.first?.hasPrefix("APNs refuses the credentials, with the reason Missing") == true)
        verdict.cause = .failed(ProviderError(.credentialsRejected, "refused"))
        #expect(verdict.complaints == ["refused"])
        verdict = Self.verdict()
        verdict.refusal = Rejection(reason: .missingProviderToken, origin: .apns, status: 403)
        #expect(verdict.complaints == [])
    }

    @Test func `everything that went wrong is told, and the gravest is the status`() {
        var verdict = Self.verdict(delivered: false, cause: .interrupted, connection: .failed(Self.refused))
        verdict.fed.hasReachedEnd = false
        verdict.eventsFailure = FileFailure("fifo", reason: .unread)
        #expect(verdict.status == .noConnection)
        #expect(
            verdict.complaints == [
                "The events cannot be written: fifo: nobody reads it", "No connection.",
                "Interrupted; stopped after line 3. What follows was not sent.",
            ]
        )
        verdict.connection = .made
        #expect(verdict.status == .badUsage)
    }

    @Test func `a bad line that ended the input is status 2`() {
        var verdict = Self.verdict()
        verdict.fed.endedBadly = true
        #expect(verdict.status == .badUsage)
        #expect(verdict.complaints == ["Line 3 is bad; nothing after it was sent."])
    }
}
