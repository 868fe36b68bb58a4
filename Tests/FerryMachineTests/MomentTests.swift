import FerryMachine
import NIOCore
import Testing

@Suite struct MomentTests {
    @Test(
        arguments: [
            (0, "0.1"), (1, "0.1"), (500, "0.5"), (501, "0.6"), (950, "1"), (1000, "1"), (1001, "1.1"), (9900, "9.9"),
            (9901, "10"), (10_000, "10"), (10_001, "11"), (30_500, "31"),
        ] as [(Int64, String)]
    )
    func `a time is rounded up in messages, and a short one has tenths`(milliseconds: Int64, words: String) {
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
        let now = Moment(monotonic: start + .milliseconds(milliseconds), epochSeconds: 0)
        #expect(now.seconds(since: start) == words)
    }
}
