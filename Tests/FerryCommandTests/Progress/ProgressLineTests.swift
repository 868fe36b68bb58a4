import FerryAppStoreTesting
import Testing

@testable import FerryCommand
@testable import FerryTerminal
@testable import FerryTesting

@Suite struct ProgressLineTests {
    private static let start = ContinuousClock.now

    @Test func `without a size the line has the rate and the words`() {
        var line = ProgressLine(at: Self.start)
        let progress = WorkProgress(count: 500, words: ["settled 500", "rejected 2"])
        #expect(line.bar(progress, at: Self.start + .milliseconds(250)) == "2000 a second  settled 500  rejected 2")
        #expect(line.bar(progress, at: Self.start + .milliseconds(500)) == "0 a second  settled 500  rejected 2")
    }

    @Test func `with a size the line has a bar, percent and the time that is left`() {
        var line = ProgressLine(at: Self.start)
        let progress = WorkProgress(fraction: 0.25, count: 100, words: ["settled 100"])
        #expect(
            line.bar(progress, at: Self.start + .seconds(10))
                == "[#####               ]  25 %  10 a second  30 s left  settled 100"
        )
    }

    @Test func `the line of a log has no bar`() {
        var line = ProgressLine(at: Self.start)
        let progress = WorkProgress(fraction: 0.5, count: 3000, words: ["settled 3000"])
        #expect(
            line.sentence(progress, at: Self.start + .seconds(300)) == "50 %, 10 a second, 5 min left, settled 3000"
        )
    }

    @Test(
        arguments: [
            (0.0, 10, nil), (1.0, 10, nil), (0.5, 0, nil), (0.1, 400, "1 h 0 min left"), (1e-12, 10, nil),
            (0.01, 100, "2 h 45 min left"), (2.0, 10, nil), (-1.0, 10, nil),
        ] as [(Double, Int, String?)]
    )
    func `the time that is left is told when it can be guessed`(fraction: Double, seconds: Int, left: String?) {
        var line = ProgressLine(at: Self.start)
        let text = line.sentence(
            WorkProgress(fraction: fraction, count: 0, words: []),
            at: Self.start + .seconds(seconds)
        )
        let percent = "\(Int(min(max(fraction, 0), 1) * 100)) %, 0 a second"
        #expect(text == percent + (left.map { ", \($0)" } ?? ""))
    }

    @Test func `work without steady steps has no rate, and no time that is left`() {
        var line = ProgressLine(at: Self.start)
        #expect(
            line.bar(WorkProgress(fraction: 0.5, words: ["batch-hold"]), at: Self.start + .seconds(9))
                == "[##########          ]  50 %  batch-hold"
        )
    }

    @Test func `a line is never longer than a terminal`() {
        var line = ProgressLine(at: Self.start)
        let words = [String(repeating: "x", count: 200)]
        #expect(line.bar(WorkProgress(fraction: 1, words: words), at: Self.start).count == ProgressLine.width)
    }

    @Test func `the fraction of an input is that of its lines with an outcome`() {
        let position = FeedPosition(length: 1000)
        #expect(position.fraction(settled: 0) == 0)
        position.move(to: 500, submitted: 10)
        #expect(position.fraction(settled: 5) == 0.25)
        position.move(to: 1000, submitted: 20)
        #expect(position.fraction(settled: 5) == 0.25)
        #expect(position.fraction(settled: 20) == 1)
        #expect(FeedPosition(length: nil).fraction(settled: 3) == nil)
        #expect(FeedPosition(length: 0).fraction(settled: 0) == nil)
    }

    @Test func `a simulation says what it took, refused and sent, and why posts failed`() {
        var counts = SimulationCounts()
        #expect(counts.lines == [])
        counts.binary = GatewayCounts()
        counts.binary?.accepted = 9
        counts.binary?.refused = 1
        counts.binary?.handshakes = 1
        counts.http2 = APNsCounts()
        counts.http2?.rejected = 3
        counts.http2?.handshakes = 2
        counts.http2?.handshakeFailures = 1
        var posts = PostCounts()
        for answer in [NotificationAnswer.status(200), .status(500), .failure(.timedOut), .status(500)] {
            posts.add(answer)
        }
        counts.posts = posts
        #expect(
            counts.lines == [
                "binary: 9 accepted, 1 refused; 1 connection",
                "http2: 0 accepted, 3 rejected; 2 connections, 1 failed handshake",
                "app-store: 4 posts sent, 1 taken, 3 failed: 2 × status 500 and 1 × TIMED_OUT",
            ]
        )
        #expect(
            counts.progress
                == WorkProgress(
                    count: 17,
                    words: ["accepted 9", "refused 4", "posts 4", "failed 3"]
                )
        )
    }
}
