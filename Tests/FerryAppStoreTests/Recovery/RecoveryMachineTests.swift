import Foundation
import Testing

@testable import FerryAppStore

@Suite struct RecoveryMachineTests {
    private static let now = Date(timeIntervalSince1970: 1_790_000_000)

    private func machine(from: TimeInterval = -86_400, environment: AppStoreEnvironment = .production)
        -> RecoveryMachine
    {
        let start = Self.now + from
        return RecoveryMachine(
            RecoveryCheckpoint(
                bundleId: "com.example.app",
                environment: environment.rawValue,
                onlyFailures: true,
                asked: start.milliseconds,
                from: start.milliseconds,
                to: Self.now.milliseconds
            )
        )
    }

    private func page(_ action: RecoveryMachine.Action) -> String?? {
        if case .ask(_, let page) = action { page } else { nil }
    }

    private func query(_ action: RecoveryMachine.Action) -> AppStoreHistoryQuery? {
        if case .ask(let query, _) = action { query } else { nil }
    }

    @Test("Pages are asked for one after another, with the same question")
    func pages() {
        var machine = self.machine()
        let question = self.query(machine.next)
        #expect(question == .init(from: Self.now - 86_400, to: Self.now, onlyFailures: true))
        for token in ["a", "b", nil] {
            #expect(self.query(machine.next) == question)
            machine.received(next: token)
            machine.handled(.stored(isStillComing: token == "a"))
            machine.handled(.duplicate)
            machine.pageHandled()
            #expect(machine.next == .finish || self.page(machine.next) == .some(token))
        }
        #expect(machine.next == .finish)
        let report = machine.checkpoint.report
        #expect(report.pages == 3)
        #expect(report.fetched == 6)
        #expect(report.stored == 3)
        #expect(report.stillComing == 1)
        #expect(report.duplicates == 3)
        #expect(report.isComplete)
    }

    @Test("A checkpoint goes on with its page, and a complete one asks nothing")
    func resume() throws {
        var machine = self.machine()
        machine.received(next: "a")
        machine.pageHandled()
        var again = RecoveryMachine(machine.checkpoint)
        #expect(self.page(again.next) == "a")
        again.received(next: nil)
        again.pageHandled()
        #expect(RecoveryMachine(again.checkpoint).next == .finish)
    }

    @Test("What is refused is counted by reason, and the reasons are bounded")
    func setAside() {
        var machine = self.machine()
        machine.received(next: nil)
        for number in 0..<30 {
            let error = AppStoreVerificationError(.forged, "Reason \(number).")
            machine.handled(.setAside(error))
            machine.handled(.setAside(error))
        }
        machine.pageHandled()
        let report = machine.checkpoint.report
        #expect(report.setAside.count == RecoveryMachine.reasonLimit)
        #expect(report.setAside.first == .init(code: .forged, reason: "Reason 0.", count: 2))
        #expect(report.setAsideCount == 60)
        #expect(report.fetched == 60)
    }

    @Test("An expired place begins the window anew, and what comes once more is not counted as a duplicate")
    func expired() {
        var machine = self.machine()
        machine.received(next: "a")
        machine.handled(.stored(isStillComing: false))
        machine.handled(.duplicate)
        machine.pageHandled()
        #expect(self.page(machine.refused(.paginationTokenExpired, now: Self.now)) == .some(nil))
        machine.received(next: nil)
        for _ in 0..<2 { machine.handled(.duplicate) }
        machine.handled(.stored(isStillComing: false))
        machine.pageHandled()
        let report = machine.checkpoint.report
        #expect(report.fetched == 3)
        #expect(report.stored == 2)
        #expect(report.duplicates == 1)
        #expect(report.restarts == 1)
    }

    @Test("A place that expires again and again stops the recovery")
    func expiredAgain() {
        var machine = self.machine()
        #expect(machine.refused(.paginationTokenExpired, now: Self.now) == .stop)
        for _ in 0..<10 {
            machine.received(next: "a")
            machine.pageHandled()
            #expect(self.page(machine.refused(.paginationTokenExpired, now: Self.now)) == .some(nil))
        }
        #expect(machine.refused(.paginationTokenExpired, now: Self.now) == .stop)
        #expect(machine.refused(.unauthorized, now: Self.now) == .stop)
    }

    @Test("A start that left Apple's reach meanwhile is moved, and the report says what is out of reach")
    func reach() throws {
        var machine = self.machine(from: -30 * 86_400, environment: .sandbox)
        let later = Self.now + 3600
        let query = try #require(self.query(machine.refused(.startDateTooFarInPast, now: later)))
        #expect(query.start == later - 30 * 86_400 + 300)
        let report = machine.checkpoint.report
        #expect(report.outOfReach == Self.now - 30 * 86_400..<query.start)
        #expect(report.window == query.start..<Self.now)
        #expect(machine.refused(.startDateTooFarInPast, now: Self.now + 40 * 86_400) == .stop)
    }

    @Test("Whether Apple comes again by itself follows from the attempts so far")
    func coming() {
        func isComing(
            _ attempts: [(hours: Double, AppStoreSendAttempt.Result)],
            signed: Double = -1000,
            _ schedule: RetrySchedule = .version2
        ) -> Bool {
            RecoveryMachine.isStillComing(
                attempts.map { .init(date: Self.now + $0.hours * 3600, result: $0.1) },
                signed: Self.now + signed * 3600,
                schedule: schedule,
                now: Self.now
            )
        }
        #expect(isComing([(-0.5, .timedOut)]))
        #expect(!isComing([(-1.5, .timedOut)]))
        #expect(isComing([(-12, .timedOut), (-11, .noResponse)]))
        #expect(!isComing([(-12, .timedOut), (-11, .success)]))
        #expect(
            !isComing([(-157, .other), (-156, .other), (-144, .other), (-120, .other), (-72, .other), (0, .other)])
        )
        #expect(isComing([], signed: -156))
        #expect(!isComing([], signed: -158))
        #expect(!isComing([(-0.1, .timedOut)], .sandbox))
        #expect(!isComing([], signed: -0.1, .sandbox))
    }
}
