import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(10))) struct ProviderTokenPropertyTests {
    @Test func `over two hours of a million asks, clocks set back and forward, three tokens are made`() async throws {
        var bench = try TokenBench()
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix64(seed: seed)
        let asks: Int64 = 1_000_000
        let start = bench.seconds
        for ask in 0..<asks {
            bench.seconds = start + ask * 7200 / asks
            if ask % 1000 == 0 {
                bench.epochSeconds = UInt32.random(in: 0...UInt32.max, using: &generator)
                await Task.yield()
            }
            guard case .token(let token) = bench.ask(), token.generation == UInt64(bench.mints.count) else {
                Issue.record("no token at ask \(ask), seed \(seed)")
                return
            }
        }
        #expect(bench.mints.map { $0 - start } == [0, 50 * 60, 100 * 60], "seed \(seed)")
        #expect(bench.machine.mintCount == 3)
    }

    @Test(arguments: 0..<200)
    func `whatever is refused and fails, mints are 20 minutes apart and every hold lies ahead`(round: Int) async throws
    {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix64(seed: seed)
        var bench = try TokenBench()
        let reasons: [Reason] = [
            .expiredProviderToken, .expiredProviderToken, .tooManyProviderTokenUpdates, .invalidProviderToken,
        ]
        // The rate varies, so that there are rounds with few refusals and rounds with many.
        let refusalsIn100 = Int.random(in: 0...40, using: &generator)
        let end = bench.seconds + 86_400
        while bench.seconds < end {
            bench.epochSeconds = UInt32.random(in: 0...UInt32.max, using: &generator)
            bench.canSign = Int.random(in: 0..<10, using: &generator) > 0
            switch bench.ask() {
            case .token(let token):
                #expect(token.generation == UInt64(bench.mints.count), "seed \(seed)")
                #expect(bench.seconds - (bench.mints.last ?? 0) < 3600, "seed \(seed)")
                // Another request at the same time gets the same answer. Otherwise the client could loop.
                #expect(bench.ask() == .token(token), "seed \(seed)")
                if Int.random(in: 0..<100, using: &generator) < refusalsIn100 {
                    let reason = reasons.randomElement(using: &generator) ?? .expiredProviderToken
                    let older = UInt64.random(in: 0...2, using: &generator)
                    bench.refuse(reason, generation: token.generation &- min(older, token.generation))
                }
                bench.seconds += Int64.random(in: 0...600, using: &generator)
            case .held(let until):
                #expect(until > bench.now, "seed \(seed)")
                #expect(until <= bench.now + .minutes(20), "seed \(seed)")
                #expect(bench.ask() == .held(until: until), "seed \(seed)")
                // The next request comes early or in time.
                let wait = (until - bench.now).nanoseconds / 1_000_000_000
                bench.seconds += Bool.random(using: &generator) ? wait : Int64.random(in: 0...wait, using: &generator)
            case .awaited, .certificate:
                Issue.record("an answer that this machine has not, seed \(seed)")
                return
            }
        }
        for (one, next) in zip(bench.mints, bench.mints.dropFirst()) {
            #expect(next - one >= 20 * 60, "seed \(seed)")
        }
        #expect(!bench.mints.isEmpty)
    }
}
