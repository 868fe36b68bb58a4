import Testing

@testable import FerryCommand

@Suite struct TrialPaceTests {
    private let start = ContinuousClock.now

    /// Looks at an upstream every five seconds for `limit` seconds. Each trial fails. Returns the seconds of the trials.
    private func trials(_ pace: inout TrialPace, within limit: Int) -> [Int] {
        var trials: [Int] = []
        for second in stride(from: 0, through: limit, by: 5) {
            let now = self.start + .seconds(second)
            guard pace.isDue(at: now) else { continue }
            trials.append(second)
            pace.failed(at: now)
        }
        return trials
    }

    @Test func `an upstream is looked at every five seconds, and tried at the first look after its failure`() {
        let pace = TrialPace()
        #expect(pace.look == .seconds(5))
        #expect(pace.isDue(at: self.start))
    }

    @Test func `an upstream that keeps failing is soon tried once a minute only`() {
        var pace = TrialPace()
        #expect(self.trials(&pace, within: 260) == [0, 5, 15, 35, 75, 135, 195, 255])
    }

    @Test func `an upstream that worked again is tried at the first look after its next failure`() {
        var pace = TrialPace()
        _ = self.trials(&pace, within: 200)
        #expect(!pace.isDue(at: self.start + .seconds(200)))
        pace.worked()
        #expect(self.trials(&pace, within: 20) == [0, 5, 15])
    }

    @Test func `a connection that is lost before the next look makes its failure a new one`() {
        var pace = TrialPace()
        pace.looked(isFailing: false, connections: 3)
        _ = self.trials(&pace, within: 200)
        pace.looked(isFailing: true, connections: 3)
        #expect(!pace.isDue(at: self.start + .seconds(200)))
        pace.looked(isFailing: true, connections: 4)
        #expect(self.trials(&pace, within: 20) == [0, 5, 15])
    }
}
