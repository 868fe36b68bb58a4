import FerryAdmin
import Testing

@testable import FerryGateway

@Suite struct GatewayPageTests {
    private static func page(
        _ name: String,
        shards: [GatewayStatus.Shard]? = nil
    ) -> (html: String, answer: AdminAnswer) {
        var counts = FateCounts()
        counts.read = 1_234_567
        var status = GatewayStatus(
            ferry: "1.0.0",
            now: 1_700_000_000,
            startedAt: 1_600_000_000,
            condition: Condition(.down, "Not <well>."),
            counts: counts,
            unanswered: 0,
            rate: .init(read: 0, accepted: 0, rejected: 0),
            history: [.init(read: 10, accepted: 5)],
            refusals: ["BadDeviceToken": 3],
            clients: [
                .init(name: name, upstream: "apns", connections: 1, counts: counts, feedbackRows: 0, told: "nothing")
            ],
            upstreams: [],
            store: .none,
            certificates: [],
            alarms: [AlarmLine(at: 1_700_000_000, "An <alarm>.")],
            changedFiles: []
        )
        status.shards = shards
        let answer = GatewayPage.answer(status)
        return (String(decoding: answer.body, as: UTF8.self), answer)
    }

    @Test func `the page is complete without its script`() {
        let html = Self.page("shop").html
        #expect(html.contains("Not &lt;well&gt;."))
        #expect(html.contains("1\u{202f}234\u{202f}567"))
        #expect(html.contains("An &lt;alarm&gt;."))
        #expect(html.contains("<body data-level=\"down\">"))
        // Some people do not see the colour.
        #expect(html.contains("· <b id=\"level\" role=\"status\">Down</b></p>"))
        #expect(html.contains("BadDeviceToken"))
    }

    @Test func `the shards stand in one table, and those of other gateways have no figures`() {
        #expect(!Self.page("shop").html.contains("<h2 id=\"shards\">"))
        var own = GatewayStatus.Shard(0, owner: "gw<1>", term: "a-term")
        (own.connections, own.waiting, own.inFlight, own.rightSeconds) = (3, 1200, 7, 2.5)
        let html = Self.page("shop", shards: [own, GatewayStatus.Shard(1, owner: nil, term: "b-term")]).html
        #expect(html.contains("gw&lt;1&gt;") && html.contains(">1\u{202f}200</td>") && html.contains(">2.5 s</td>"))
        #expect(html.contains("data-b=\"shards.1.inFlight|n\">–</td>"))
        #expect(html.contains("data-b=\"shards.1.owner|s\">–</td>"))
    }

    @Test func `the name of a client is text, and never a tag`() {
        let html = Self.page(#"<script>alert("1")</script>"#).html
        #expect(!html.contains("<script>alert"))
        #expect(html.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;"))
    }

    @Test func `the script asks the origin, because the page's own address may hold the token`() throws {
        let (html, answer) = Self.page("shop")
        // fetch refuses a URL with credentials, and a path alone would take those of the page.
        #expect(html.ranges(of: "fetch(").count == 1 && html.contains("fetch(location.origin + path,"))
        let policy = try #require(answer.headers.first { $0.name == "Content-Security-Policy" }?.value)
        #expect(policy.contains("connect-src 'self'"))
    }

    @Test func `the policy allows the page's own style and script by their digests, and nothing else`() throws {
        let (html, answer) = Self.page("shop")
        let policy = try #require(answer.headers.first { $0.name == "Content-Security-Policy" }?.value)
        #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
        #expect(!policy.contains("unsafe"))
        #expect(!html.contains(" style=\"") && !html.contains(" onload="))
        #expect(html.ranges(of: "<script>").count == 1 && html.ranges(of: "<style>").count == 1)
        #expect(!html.contains("http://") && !html.contains("https://"))
    }
}
