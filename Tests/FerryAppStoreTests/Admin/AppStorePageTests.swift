import FerryAdmin
import Foundation
import Testing

@testable import FerryAppStore

@Suite struct AppStorePageTests {
    private static func html(_ change: (inout AppStoreStatus) -> Void) -> String {
        String(decoding: AppStorePage.answer(AppStoreConditionTests.status(change)).body, as: UTF8.self)
    }

    @Test func `the page is complete without its script`() {
        let html = Self.html {
            $0.posts.posts = 1_234_567
            $0.refusals = ["forged": 3]
            $0.destinations[0].lastFailure = AlarmLine(at: 1, "It <failed>.")
            $0.alarms = [AlarmLine(at: 1_700_000_000, "An <alarm>.")]
        }
        #expect(html.contains("1\u{202f}234\u{202f}567"))
        #expect(html.contains("It &lt;failed&gt;.") && html.contains("An &lt;alarm&gt;."))
        #expect(html.contains("<th scope=\"row\">forged</th>"))
        #expect(html.contains("<title>Well: Ferry App Store receiver</title>"))
        #expect(html.contains("id=\"figures\""))
    }

    @Test func `each binding of the page leads to a member of the status`() throws {
        let status = AppStoreConditionTests.status {
            $0.posts.posts = 1
            $0.oldestAge = 1
            $0.refusals = ["forged": 3]
            $0.answers = ["200": 1]
            $0.certificates = [CertificateStatus(file: "a.pem", use: "--cert", endsAt: 1)]
            $0.alarms = [AlarmLine(at: 1, "Alarm.")]
            $0.destinations[0].p50 = 0.1
            $0.destinations[0].p99 = 0.2
            $0.destinations[0].lastFailure = AlarmLine(at: 1, "Failure.")
        }
        let html = String(decoding: AppStorePage.answer(status).body, as: UTF8.self)
        let json = try JSONSerialization.jsonObject(with: Data(AdminAnswer(encoding: status).body))
        let bindings = html.matches(of: /data-b="([^"|]+)\|([a-z])"/)
        #expect(bindings.count > 20)
        for binding in bindings {
            var value: Any? = json
            for part in binding.1.split(separator: ".") {
                value = Int(part).flatMap { (value as? [Any])?[$0] } ?? (value as? [String: Any])?[String(part)]
            }
            #expect(value != nil, "\(binding.1)")
            #expect("snrtadl".contains(binding.2), "\(binding.2)")
        }
    }
}
