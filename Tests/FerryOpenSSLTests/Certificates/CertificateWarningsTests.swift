import FerryOpenSSL
import Foundation
import Testing

@Suite struct CertificateWarningsTests {
    private static let start = Date(timeIntervalSince1970: 1_700_000_000)

    private static func days(_ count: Double) -> Date { self.start.addingTimeInterval(count * 86_400) }

    private static func entry(_ use: String, endsAfter days: Double) -> CertificateWarnings.Entry {
        CertificateWarnings.Entry(use: use, file: "\(use).pem", subject: "CN=\(use)", end: self.days(days))
    }

    @Test func `warnings come from 30 days before the end, at the start and then once a day`() {
        var warnings = CertificateWarnings([Self.entry("late", endsAfter: 31.5), Self.entry("early", endsAfter: 9)])
        #expect(warnings.timePassed(at: Self.start).map(\.use) == ["early"])
        #expect(warnings.next == Self.days(1))
        #expect(warnings.timePassed(at: Self.days(0.99)) == [])
        #expect(warnings.timePassed(at: Self.days(1)).map(\.use) == ["early"])
        #expect(warnings.timePassed(at: Self.days(2)).map(\.use) == ["early", "late"])
        #expect(warnings.next == Self.days(3))
    }

    @Test func `warnings go on after the end`() {
        var warnings = CertificateWarnings([Self.entry("a", endsAfter: -1)])
        #expect(warnings.timePassed(at: Self.start).count == 1)
        #expect(warnings.timePassed(at: Self.days(1)).count == 1)
    }

    @Test func `a clock that was set back delays the next look by a day at most`() {
        var warnings = CertificateWarnings([Self.entry("a", endsAfter: 3)])
        #expect(warnings.timePassed(at: Self.days(1)).count == 1)
        #expect(warnings.timePassed(at: Self.days(-400)) == [])
        #expect(warnings.next == Self.days(-399))
    }

    @Test func `days are whole, 0 on the last day, and negative after the end`() {
        let entry = Self.entry("a", endsAfter: 9)
        #expect(entry.daysLeft(at: Self.start) == 9)
        #expect(entry.daysLeft(at: Self.days(0.1)) == 8)
        #expect(entry.daysLeft(at: Self.days(8.5)) == 0)
        #expect(entry.daysLeft(at: Self.days(9.5)) == -1)
        #expect(!entry.hasEnded(at: Self.days(9)) && entry.hasEnded(at: Self.days(9.01)))
    }

    @Test func `a file ends with the first of its certificates`() throws {
        let authority = try ThrowAwayCA()
        let long = try authority.server(validity: .days(90)).summary
        let short = try authority.server(validity: .days(5)).summary
        let entry = try #require(CertificateWarnings.Entry(use: "listen.cert", file: "server.pem", [long, short]))
        #expect(entry.end == short.notAfter)
        #expect(CertificateWarnings.Entry(use: "listen.cert", file: "server.pem", []) == nil)
    }
}
