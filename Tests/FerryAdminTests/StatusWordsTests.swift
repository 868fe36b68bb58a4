import FerryAdmin
import Testing

@Suite struct StatusWordsTests {
    @Test(
        arguments: [
            (nil, "–"), (0.0124, "12 ms"), (1.46, "1.5 s"), (10.9, "10 s"), (61.5, "61 s"), (119.9, "119 s"),
            (120, "2 min"),
            (7199, "119 min"), (7200, "2 h"), (172_799, "47 h"), (172_800, "2 d"),
        ] as [(Double?, String)]
    )
    func `a time has one unit, and tenths only while it is short`(seconds: Double?, text: String) {
        #expect(StatusWords.duration(seconds) == text)
    }

    @Test(
        arguments: [
            (nil, "never"), (-3, "now"), (0, "now"), (1, "now"), (2, "2.0 s ago"), (45, "45 s ago"), (7200, "2 h ago"),
        ] as [(Int?, String)]
    )
    func `a time of a moment ago is now, as is one ahead of a clock that was set back`(seconds: Int?, text: String) {
        #expect(StatusWords.ago(seconds.map { 1_700_000_000 - $0 }, now: 1_700_000_000) == text)
    }

    @Test(arguments: [(0, 0), (86_399, 0), (86_400, 1), (-1, -1), (-86_400, -1), (-86_401, -2)])
    func `the days that a certificate has left are whole`(seconds: Int, days: Int) {
        let end = CertificateStatus(file: "a.pem", use: "--cert", endsAt: 1_700_000_000 + seconds)
        #expect(end.daysLeft(now: 1_700_000_000) == days)
    }
}
