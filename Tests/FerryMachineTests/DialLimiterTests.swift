import FerryMachine
import NIOCore
import Testing

@Suite struct DialLimiterTests {
    @Test func `ten connections a second are made, and the eleventh waits until the first is a second old`() {
        var limiter = DialLimiter()
        let start = NIODeadline.uptimeNanoseconds(1_000)
        for index in 0..<Int64(DialLimiter.perSecond) {
            #expect(limiter.take(now: start + .milliseconds(index)) == nil)
        }
        #expect(limiter.take(now: start + .milliseconds(10)) == start + .seconds(1))
        #expect(limiter.take(now: start + .seconds(1)) == nil)
        #expect(limiter.take(now: start + .seconds(1)) == start + .milliseconds(1001))
    }
}
