import Testing

@testable import FerryAppStore

@Suite struct RequestRetryTests {
    @Test func `waits grow to a bound, and the attempts end`() {
        var retry = RequestRetry(attempts: 9, isIdempotent: true)
        let waits = (0..<8).map { _ in retry.next(.serverTrouble, chance: 1) }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30, 30].map { .repeatAfter(.seconds($0)) })
        #expect(retry.next(.serverTrouble, chance: 1) == .giveUp)
    }

    @Test func `half of a wait is chance`() {
        for (chance, milliseconds) in [(0.0, 500), (0.5, 750), (1, 1000), (7, 1000)] {
            var retry = RequestRetry(attempts: 2, isIdempotent: true)
            #expect(retry.next(.serverTrouble, chance: chance) == .repeatAfter(.milliseconds(milliseconds)))
        }
    }

    @Test func `only a request that does no harm twice is repeated`() {
        func action(_ failure: RequestRetry.Failure, _ isIdempotent: Bool) -> RequestRetry.Action {
            var retry = RequestRetry(attempts: 3, isIdempotent: isIdempotent)
            return retry.next(failure, chance: 1)
        }
        #expect(action(.lasting, true) == .giveUp)
        #expect(action(.connection(wasSent: true), true) == .repeatAfter(.seconds(1)))
        #expect(action(.connection(wasSent: true), false) == .giveUp)
        #expect(action(.serverTrouble, true) == .repeatAfter(.seconds(1)))
        #expect(action(.serverTrouble, false) == .giveUp)
        #expect(action(.connection(wasSent: false), false) == .repeatAfter(.seconds(1)))
        #expect(action(.rateLimited(after: .seconds(40)), false) == .repeatAfter(.seconds(41)))
        #expect(action(.rateLimited(after: .seconds(-40)), false) == .repeatAfter(.seconds(1)))
        #expect(action(.rateLimited(after: nil), true) == .repeatAfter(.seconds(1)))
    }

    @Test func `one attempt means that the request is never repeated`() {
        var retry = RequestRetry(attempts: 1, isIdempotent: true)
        #expect(retry.next(.serverTrouble, chance: 0) == .giveUp)
    }
}
