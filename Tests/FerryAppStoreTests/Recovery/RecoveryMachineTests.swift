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

    @Test func `pages are requested one after another, with the same query`() {
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

    @Test func `a checkpoint goes on with its page, and a complete one requests nothing`() throws {
        var machine = self.machine()
        machine.received(next: "a")
        machine.pageHandled()
        var again = RecoveryMachine(machine.checkpoint)
        #expect(self.page(again.next) == "a")
        again.received(next: nil)
        again.pageHandled()
        #expect(RecoveryMachine(again.checkpoint).next == .finish)
    }

    @Test func `refused notifications are counted by reason, and the number of reasons is bounded`() {
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

    @Test
    func `an expired page token begins the window anew, and repeated notifications are not counted as duplicates`() {
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

    @Test func `a page token that keeps expiring stops the recovery`() {
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

    @Test func `a start that has left Apple's reach is moved, and the report names the lost part`() throws {
        var machine = self.machine(from: -30 * 86_400, environment: .sandbox)
        let later = Self.now + 3600
        let query = try #require(self.query(machine.refused(.startDateTooFarInPast, now: later)))
        #expect(query.start == later - 30 * 86_400 + 300)
        let report = machine.checkpoint.report
        #expect(report.outOfReach == Self.now - 30 * 86_400..<query.start)
        #expect(report.window == query.start..<Self.now)
        #expect(machine.refused(.startDateTooFarInPast, now: Self.now + 40 * 86_400) == .stop)
    }

    @Test func `the attempts so far decide whether Apple repeats a notification`() {
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
