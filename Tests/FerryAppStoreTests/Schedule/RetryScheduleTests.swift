import FerryAppStore
import Foundation
import Testing

@Suite struct RetryScheduleTests {
    private let start = Date(timeIntervalSince1970: 1_700_000_000)

    private func hours(_ hours: Double) -> Date { self.start.addingTimeInterval(hours * 3600) }

    @Test func `each delay counts from the attempt before`() {
        #expect(RetrySchedule.version2.attempts(from: self.start) == [0, 1, 13, 37, 85, 157].map(self.hours))
        #expect(RetrySchedule.version1.attempts(from: self.start) == [0, 6, 30, 78].map(self.hours))
        #expect(RetrySchedule.sandbox.attempts(from: self.start) == [self.start])
    }

    @Test func `a notification is lost when its first and its last attempt fall into the outage`() {
        let outage = self.start..<self.hours(158)
        #expect(RetrySchedule.version2.lost(in: outage) == self.start..<self.hours(1))
        #expect(RetrySchedule.version2.lost(in: self.start..<self.hours(157)) == nil)
        #expect(RetrySchedule.version1.lost(in: outage) == self.start..<self.hours(80))
        #expect(RetrySchedule.sandbox.lost(in: outage) == outage)
    }

    @Test(arguments: [1, 13, 84, 156, 158, 400])
    func `the arrival agrees with the loss for every minute of an outage`(outageHours: Int) {
        let outage = self.start..<self.hours(Double(outageHours))
        for schedule in [RetrySchedule.version2, .version1, .sandbox] {
            let lost = schedule.lost(in: outage)
            for minute in stride(from: -120, through: 60 * outageHours + 60, by: 1) {
                let first = self.hours(Double(minute) / 60)
                #expect((schedule.arrival(from: first, outage: outage) == nil) == (lost?.contains(first) ?? false))
            }
        }
    }

    @Test func `version and environment choose the schedule`() {
        #expect(RetrySchedule(version: 2, environment: .production) == .version2)
        #expect(RetrySchedule(version: 1, environment: .production) == .version1)
        #expect(RetrySchedule(version: 2, environment: .sandbox) == .sandbox)
        #expect(RetrySchedule.version2.lastChance(from: self.start) == self.hours(157))
    }
}
