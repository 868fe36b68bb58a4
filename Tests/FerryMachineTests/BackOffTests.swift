import FerryMachine
import NIOCore
import Testing

@Suite struct BackOffTests {
    @Test func `waits double from the first to the cap, and each is 75 to 100 % of that`() {
        var generator = SplitMix64(seed: 1)
        var backOff = BackOff(.seconds(1) ... .seconds(30))
        for nominal in [1, 2, 4, 8, 16, 30, 30] as [Double] {
            let seconds = Double(backOff.fail(using: &generator).nanoseconds) / 1e9
            #expect(seconds >= nominal * 0.75)
            #expect(seconds <= nominal)
        }
        #expect(backOff.failures == 7)
    }

    @Test func `after a success the waits begin with the first again`() {
        var generator = SplitMix64(seed: 2)
        var backOff = BackOff(.seconds(1) ... .seconds(30))
        for _ in 0..<5 { _ = backOff.fail(using: &generator) }
        backOff.reset()
        #expect(backOff.failures == 0)
        #expect(backOff.fail(using: &generator) <= .seconds(1))
    }

    @Test func `any number of failures stays at the cap`() {
        var generator = SplitMix64(seed: 3)
        var backOff = BackOff(.seconds(1) ... .seconds(30))
        for _ in 0..<200 { #expect(backOff.fail(using: &generator) <= .seconds(30)) }
    }
}
