import FerryCore
import FerryHTTP2
import FerryMachine
import FerryOpenSSL
import NIOCore
import Synchronization
import Testing

@testable import Ferry

@Suite struct TokenDeskTests {
    /// A source that counts how often it was asked.
    private struct Counted {
        let source: ProviderTokenSource
        let asks: @Sendable () -> Int

        init() throws {
            let count = Counter()
            self.source = try ProviderTokenSource(key: .generate(), keyID: "ABCDE12345", teamID: "FGHIJ67890") {
                count.value.add(1, ordering: .relaxed)
                return .zero
            }
            self.asks = { count.value.load(ordering: .relaxed) }
        }

        private final class Counter: Sendable { let value = Atomic<Int>(0) }
    }

    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    /// - Parameter sleep: how long the machine has slept.
    private static func moment(_ time: TimeAmount, asleep sleep: TimeAmount = .zero) -> Moment {
        Moment(
            monotonic: Self.start + time,
            epochSeconds: 1_700_000_000 + UInt32((time + sleep).nanoseconds / 1_000_000_000),
            boot: Self.start + time + sleep
        )
    }

    private static func token(_ desk: inout TokenDesk, at time: TimeAmount) -> ProviderToken? {
        if case .token(let token) = desk.ask(now: Self.moment(time)).authorization { token } else { nil }
    }

    @Test func `a busy connection asks ten times a second`() throws {
        let counted = try Counted()
        var desk = TokenDesk(counted.source)
        for turn in Int64(0)..<10_000 { #expect(Self.token(&desk, at: .microseconds(100 * turn)) != nil) }
        // The first token counts as a change of the source.
        #expect((10...12).contains(counted.asks()), "\(counted.asks())")
    }

    @Test func `a machine that slept asks at once`() throws {
        let counted = try Counted()
        var desk = TokenDesk(counted.source)
        for _ in 0..<2 { _ = desk.ask(now: Self.moment(.zero)) }
        let asks = counted.asks()
        _ = desk.ask(now: Self.moment(.milliseconds(1)))
        #expect(counted.asks() == asks)
        _ = desk.ask(now: Self.moment(.milliseconds(2), asleep: .hours(2)))
        #expect(counted.asks() == asks + 1)
    }

    @Test func `a desk follows its source to the next token`() throws {
        let counted = try Counted()
        var (desk, other) = (TokenDesk(counted.source), TokenDesk(counted.source))
        let first = try #require(Self.token(&desk, at: .zero))
        #expect(Self.token(&desk, at: .minutes(49)) == first)
        let next = try #require(Self.token(&other, at: .minutes(51)))
        #expect(next != first)
        #expect(Self.token(&desk, at: .minutes(51)) == next)
        #expect(counted.source.mintCount == 2)
    }

    @Test func `a token that another provider found refused is not used any more`() throws {
        let counted = try Counted()
        var (desk, other) = (TokenDesk(counted.source), TokenDesk(counted.source))
        let token = try #require(Self.token(&desk, at: .zero))
        for desk in [desk, other] {
            var desk = desk
            #expect(Self.token(&desk, at: .minutes(30)) == token)
        }
        #expect(Self.token(&desk, at: .minutes(30)) == token)
        other.refused(.expiredProviderToken, token, now: Self.moment(.minutes(30)))
        let next = try #require(Self.token(&desk, at: .minutes(30) + .milliseconds(1)))
        #expect(next != token)
        #expect(Self.token(&other, at: .minutes(30) + .milliseconds(1)) == next)
    }

    @Test func `a replaced key has its token at once`() throws {
        let counted = try Counted()
        var desk = TokenDesk(counted.source)
        let token = try #require(Self.token(&desk, at: .zero))
        #expect(Self.token(&desk, at: .milliseconds(1)) == token)
        try counted.source.replace(key: .generate(), keyID: "NEWKEY0001")
        #expect(desk.isKeyReplaced)
        #expect(try #require(Self.token(&desk, at: .milliseconds(2))) != token)
        #expect(!desk.isKeyReplaced)
    }
}
