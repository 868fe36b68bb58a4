import Testing

@testable import FerryAdmin

@Suite struct PagePieceTests {
    @Test func `an alarm is bound with its time and its sentence`() {
        let text = PagePiece.alarms([AlarmLine(at: 1, "It hangs.")])
        #expect(text.contains(#"data-b="alarms.0.at|l""#))
        #expect(text.contains(#"data-b="alarms.0.sentence|s">It hangs.<"#))
    }

    @Test func `a certificate is bound with its file and its use`() {
        let text = PagePiece.certificates([CertificateStatus(file: "a.pem", use: "listen.cert", endsAt: 1)], now: 1)
        #expect(text.contains(#"data-b="certificates.0.file|s">a.pem<"#))
        #expect(text.contains(#"data-b="certificates.0.use|s">listen.cert<"#))
    }

    @Test func `a name with the signs of a path is one step of it`() {
        #expect(PagePiece.key("100% a.b|c") == "100%25 a%2Eb%7Cc")
        #expect(PagePiece.counts("T", "w", "refusals", ["a.b": 1]).contains(#"data-b="refusals.a%2Eb|n""#))
    }
}
