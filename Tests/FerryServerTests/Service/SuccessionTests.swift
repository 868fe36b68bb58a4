internal import FerryServer
internal import Synchronization
internal import Testing

@Suite struct SuccessionTests {
    private struct Taken: Error {}
    private struct Other: Error {}

    private let start = ContinuousClock.now

    @Test func `a wait is announced once, and is over after 60 s`() {
        var wait = SuccessionWait()
        #expect(wait.refused(at: self.start) == .announce)
        #expect(wait.refused(at: self.start + .seconds(1)) == .retry)
        #expect(wait.refused(at: self.start + .milliseconds(59_999)) == .retry)
        #expect(wait.refused(at: self.start + .seconds(60)) == .giveUp)
        #expect(wait.refused(at: self.start + .seconds(61)) == .giveUp)
    }

    @Test func `a thing is taken as soon as it is free, and its wait is said once`() async throws {
        let things = Mutex<[Succession.Thing]>([])
        let succession = Succession { thing in things.withLock { $0.append(thing) } }
        var tries = 0
        let result = try await succession.take(.store, isTaken: { (error: any Error) in error is Taken }) {
            tries += 1
            guard tries > 3 else { throw Taken() }
            return tries
        }
        #expect(result == 4)
        #expect(things.withLock { $0 } == [.store])
    }

    @Test func `an error with another reason ends the take-over at once`() async {
        let succession = Succession { _ in Issue.record("It does not wait.") }
        await #expect(throws: Other.self) {
            try await succession.take(.store, isTaken: { (error: any Error) in error is Taken }) {
                () async throws -> Int in throw Other()
            }
        }
    }
}
