import Testing

@testable import FerryHTTP2

@Suite struct EarnedWindowTests {
    @Test func `the first connection begins with 100 and earns as many again by each window of answers`() {
        var window = EarnedWindow(limit: 1000)
        #expect([0, 100, 300, 700].map { window.proved(answered: $0) } == [100, 200, 400, 800])
        #expect(window.proved(answered: 900) == 1000)
        // The first connection opened the window for the next one.
        #expect(window.proved(answered: 0) == 1000)
    }

    @Test func `a limit below the first window is open at once`() {
        var window = EarnedWindow(limit: 10)
        #expect(window.proved(answered: 0) == 10)
    }

    @Test func `requests in doubt leave one sixteenth of what connections achieved`() {
        var window = EarnedWindow(limit: 1000)
        window.ended(answered: 320, .unknown)
        #expect(window.size(answered: 0) == 20)
        window.ended(answered: 0, .unknown)
        #expect(window.size(answered: 0) == 15)
    }

    @Test func `copies leave a half of it`() {
        var window = EarnedWindow(limit: 1000)
        window.ended(answered: 100, .copies(100))
        #expect(window.size(answered: 0) == 50)
    }

    @Test func `few copies narrow nothing, and widen what was narrowed`() {
        var window = EarnedWindow(limit: 1000)
        window.ended(answered: 100, .copies(50))
        #expect(window.size(answered: 0) == 100)
        window.ended(answered: 40, .copies(100))
        #expect(window.size(answered: 0) == 20)
        window.ended(answered: 20, .copies(10))
        #expect(window.size(answered: 0) == 20)
        window.ended(answered: 200, .copies(10))
        #expect(window.size(answered: 0) == 40)
    }

    @Test func `the window is never below 1, whatever peers do`() {
        var window = EarnedWindow(limit: 1000)
        for _ in 0..<100 { window.ended(answered: 0, .unknown) }
        #expect(window.size(answered: 0) == 1)
        #expect(window.size(answered: 1) == 1)
    }

    @Test func `a connection that achieves more than others earns more`() {
        var window = EarnedWindow(limit: 1000)
        window.ended(answered: 160, .unknown)
        #expect([0, 160, 320, 1600].map { window.proved(answered: $0) } == [10, 10, 20, 100])
        #expect(window.proved(answered: 16_000) == 1000)
        #expect(window.proved(answered: 0) == 1000)
    }

    @Test func `one blip on a connection that achieved much narrows nothing`() {
        var window = EarnedWindow(limit: 1000)
        window.ended(answered: 1_000_000, .unknown)
        #expect(window.proved(answered: 0) == 1000)
    }

    @Test func `doubt fades while ends cost copies only`() {
        var window = EarnedWindow(limit: 1000)
        window.ended(answered: 1000, .unknown)
        var sizes = [window.size(answered: 0)]
        for _ in 0..<10 {
            window.ended(answered: 1000, .copies(600))
            sizes.append(window.size(answered: 0))
        }
        #expect(sizes.first == 62)
        #expect(sizes == sizes.sorted())
        #expect(sizes.last ?? 0 >= 350)
    }

    @Test func `an open window narrows by what the last connection achieved alone`() {
        var window = EarnedWindow(limit: 1000)
        _ = window.proved(answered: 1_000_000)
        window.ended(answered: 16, .unknown)
        #expect(window.size(answered: 0) == 1)
    }
}
