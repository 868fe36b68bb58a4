import FerryCore
import FerryMachine
import NIOCore
import Testing

@Suite struct ConnectionFailuresTests {
    private var generator = SplitMix64(seed: 1)
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private static func failures(
        count: Int? = nil,
        time: Duration? = nil,
        retriesLastingErrors: Bool = false
    ) -> ConnectionFailures {
        ConnectionFailures(
            limit: RetryLimit(count: count, time: time),
            waits: .seconds(1) ... .seconds(30),
            retriesLastingErrors: retriesLastingErrors
        )
    }

    @Test mutating func `one failure more than allowed gives up, and the count starts again`() {
        var failures = Self.failures(count: 2)
        var verdicts: [Bool] = []
        for _ in 0..<6 {
            let verdict = failures.failed(since: self.start, now: self.start, using: &self.generator)
            if case .giveUp(let count, let since, _) = verdict {
                #expect(count == 3 && since == self.start)
                verdicts.append(true)
            } else {
                verdicts.append(false)
            }
        }
        #expect(verdicts == [false, false, true, false, false, true])
    }

    @Test mutating func `the time runs from the first failure in a row`() {
        var failures = Self.failures(time: .seconds(30))
        for second in [0, 10, 29] as [Int64] {
            let now = self.start + .seconds(second)
            let verdict = failures.failed(since: now, now: now, using: &self.generator)
            guard case .dialAgain(let wait) = verdict else { return #expect(Bool(false), "gave up at \(second) s") }
            #expect(now + wait <= self.start + .seconds(30))
        }
        let end = self.start + .seconds(30)
        let verdict = failures.failed(since: end, now: end, using: &self.generator)
        guard case .giveUp(failures: 4, since: self.start, let wait) = verdict else { return #expect(Bool(false)) }
        #expect(wait <= failures.firstWait && failures.hasFailed)
    }

    @Test mutating func `a notification that comes after giving up does not wait for old failures`() {
        var failures = Self.failures(time: .seconds(30))
        var waits: [TimeAmount] = []
        for second in [0, 10, 20, 30, 31, 32] as [Int64] {
            let now = self.start + .seconds(second)
            switch failures.failed(since: now, now: now, using: &self.generator) {
            case .dialAgain(let wait), .giveUp(_, _, let wait): waits.append(wait)
            }
        }
        let first = failures.firstWait
        #expect(waits[3] <= first)
        #expect(waits[4] > first && waits[4] <= first + first)
    }

    @Test mutating func `refused credentials end the series, and their waits grow`() {
        var failures = Self.failures(time: .seconds(30))
        _ = failures.failed(since: self.start, now: self.start, using: &self.generator)
        let waits = (0..<4).map { _ in failures.refused(using: &self.generator) }
        #expect(waits == waits.sorted() && waits[3] > waits[0] + waits[0])
        let later = self.start + .hours(1)
        let verdict = failures.failed(since: later, now: later, using: &self.generator)
        guard case .dialAgain = verdict else { return #expect(Bool(false)) }
    }

    @Test mutating func `a useful connection ends the series, and the next wait is the first`() {
        var failures = Self.failures(count: 1)
        _ = failures.failed(since: self.start, now: self.start, using: &self.generator)
        #expect(failures.hasFailed)
        failures.reset()
        #expect(!failures.hasFailed)
        let verdict = failures.failed(since: self.start, now: self.start, using: &self.generator)
        guard case .dialAgain(let wait) = verdict else { return #expect(Bool(false)) }
        #expect(wait <= .seconds(1))
    }

    @Test func `a lasting error is final until a connection was useful`() {
        let untrusted = ProviderError(.peerNotTrusted, "stranger")
        let refused = ProviderError(.credentialsRejected, "refused")
        var failures = Self.failures()
        #expect(failures.isFinal(untrusted) && failures.isFinal(refused))
        #expect(!failures.isFinal(ProviderError(.connectFailed, "refused port")))
        failures.worked()
        #expect(!failures.isFinal(untrusted) && !failures.isFinal(refused))
        failures.reset()
        #expect(!failures.isFinal(untrusted))
    }

    @Test func `with retriesLastingErrors nothing is final`() {
        let failures = Self.failures(retriesLastingErrors: true)
        #expect(!failures.isFinal(ProviderError(.peerNotTrusted, "stranger")))
        #expect(!failures.isFinal(ProviderError(.credentialsRejected, "refused")))
    }
}
