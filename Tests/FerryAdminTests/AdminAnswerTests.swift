import FerryHTTP1
import NIOHTTP1
import Testing

@testable import FerryAdmin

@Suite struct AdminAnswerTests {
    @Test func `an answer keeps its body, so that the answer to HEAD has the same length`() {
        #expect(AdminAnswer(status: 200, "It runs.").serverAnswer.body == Array("It runs.\n".utf8))
    }

    @Test func `no cache, frame or page of another origin may have an answer`() {
        let headers = AdminAnswer(Health(isGood: false, "The store is full.")).serverAnswer.headers
        #expect(headers["Cache-Control"] == ["no-store"])
        #expect(headers["X-Frame-Options"] == ["DENY"])
        #expect(headers["Cross-Origin-Resource-Policy"] == ["same-origin"])
    }

    @Test func `health that is bad is a 503 with its sentence`() {
        let answer = AdminAnswer(Health(isGood: false, "The store is full."))
        #expect(answer.status == 503)
        #expect(answer.body == Array("The store is full.\n".utf8))
    }

    @Test func `a certificate is a trouble as soon as the log warns of it`() {
        let period = 30 * 86_400
        let ends = [
            CertificateStatus(file: "late.pem", use: "--cert", endsAt: period),
            CertificateStatus(file: "soon.pem", use: "--cert", endsAt: period - 1),
            CertificateStatus(file: "ended.pem", use: "--cert", endsAt: -1),
        ]
        #expect(
            CertificateStatus.troubles(ends, now: 0, cure: "Replace it.") == [
                "The certificate ended.pem ('--cert') has ended. Replace it.",
                "The certificate soon.pem ('--cert') ends in 29 days. Replace it.",
            ]
        )
    }
}
