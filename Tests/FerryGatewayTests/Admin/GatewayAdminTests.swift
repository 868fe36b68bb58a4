import Ferry
import FerryAdmin
import FerryCore
import FerryHTTP1
import FerryTesting
import Foundation
import NIOHTTP1
import Testing

@testable import FerryGateway

/// The admin service of a gateway over real sockets.
@Suite(.timeLimit(.minutes(5))) struct GatewayAdminTests {
    private struct Service {
        let admin: GatewayAdmin
        let server: AdminServer
        let client: HTTPClient
        let socket: String

        func get(_ path: String, _ headers: [String: String] = [:]) async throws -> (status: Int, body: String) {
            var request = HTTPClientRequest(.GET, try HTTPURL("http://127.0.0.1:\(self.server.port ?? 0)\(path)"))
            for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
            let response = try await self.client.send(request, within: GatewayHarness.forever)
            return (response.status, String(decoding: response.body, as: UTF8.self))
        }
    }

    private static func run(
        token: String? = nil,
        _ rules: [HTTP2Rule] = [],
        store: MemoryStore? = nil,
        patience: Duration = GatewayHarness.forever,
        pageTime: Duration = .seconds(1),
        _ body: (GatewayHarness, Service) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await GatewayHarness.run(rules) {
            $0.store = store
        } _: { harness in
            let around = GatewayAdmin.Surroundings(
                ProcessFacts(ferry: "1.0.0"),
                upstreams: [("apns", "\(harness.apns.host):\(harness.apns.port)")],
                watches: [harness.watch]
            )
            let admin = GatewayAdmin(harness.gateway, around, patience: patience, pageTime: pageTime)
            let socket = directory.appending(path: "admin").path
            let server = try await AdminServer.start(
                .init(
                    socketPath: socket,
                    port: .init(host: "127.0.0.1", number: 0, token: token.map { Array($0.utf8) })
                )
            ) { await admin.answer($0) }
            let client = try HTTPClient()
            do {
                try await body(harness, Service(admin: admin, server: server, client: client, socket: socket))
            } catch {
                await server.stop()
                throw error
            }
            await server.stop()
        }
    }

    /// The value of a series of the metrics, summed over its labels.
    private static func sum(_ text: String, _ name: String) -> Double {
        text.split(separator: "\n").filter { $0.hasPrefix("\(name){") || $0.hasPrefix("\(name) ") }
            .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
    }

    @Test func `both sums hold in every page of metrics while notifications come`() async throws {
        let bad = try GatewayHarness.device(7)
        try await Self.run([.reject([bad], reason: .badDeviceToken)]) { harness, service in
            let notification = try PushNotification(Payload(alert: "Hello"))
            let report = try await withProvider(harness.client) { provider in
                for number in 0..<3000 {
                    var batch = PushBatch()
                    try batch.append(notification, to: GatewayHarness.device(number), tag: PushTag(UInt64(number)))
                    try await provider.submit(&batch)
                    guard number.isMultiple(of: 300) else { continue }
                    let text = try await service.get("/metrics").body
                    func value(_ name: String) -> Double { Self.sum(text, "ferry_gateway_\(name)") }
                    let out = value("forwarded_total") + value("waiting_notifications") + value("dropped_unsent_total")
                    #expect(
                        value("read_total") + value("recovered_total") + value("retried_total")
                            == out + value("swallowed_total") + value("refused_here_total") + value("known_bad_total")
                    )
                    #expect(
                        value("accepted_total") + value("gone_total") + value("rejected_total") + value("expired_total")
                            + value("dead_letters_total") + value("uncertain_total")
                            + value("unanswered_notifications") == out
                    )
                }
                return await provider.shutDown(within: GatewayHarness.forever)
            }
            #expect(report.unsettled == 0)
            // The client may end before APNs has everything.
            while try await harness.gateway.counts.accepted < 2999 { await Task.yield() }
            let text = try await service.get("/metrics").body
            #expect(Self.sum(text, "ferry_gateway_accepted_total") == 2999)
            #expect(text.contains(#"ferry_gateway_refusals_total{upstream="apns",reason="BadDeviceToken"} 1"#))
        }
    }

    @Test func `the page, the status, the metrics and health are there, and nothing else`() async throws {
        try await Self.run { _, service in
            for path in ["/", "/status", "/metrics", "/health/live", "/health/ready", "/health/delivering"] {
                let status = try await service.get(path).status
                #expect(status == 200, "\(path)")
            }
            let unknown = try await service.get("/letters").status
            #expect(unknown == 404)
            let status = try JSONDecoder().decode(
                GatewayStatus.self,
                from: Data(try await service.get("/status").body.utf8)
            )
            #expect(status.version == GatewayStatus.version)
            #expect(status.clients.map(\.name) == ["old stack"])
        }
    }

    @Test func `while the store hangs, a request for letters is answered with a sentence`() async throws {
        let store = MemoryStore()
        let id = "00000000-0000-8001-8000-010000000001"
        try await Self.run(store: store, patience: .milliseconds(50)) { _, service in
            let client = try AdminClient(socket: service.socket)
            store.hold()
            let answers = [
                try await client.get("/letters"), try await client.get("/letter?id=\(id)"),
                try await client.post("/letters/retry", Array(id.utf8)),
            ]
            // It is refused before the store is asked. The machine of the test may be busy for longer than the patience.
            while try await client.post("/letters/retry", Array("shop".utf8)).status != 400 { await Task.yield() }
            for answer in answers {
                #expect(answer.status == 503)
                #expect(
                    String(decoding: answer.body, as: UTF8.self)
                        == "The store or the event loop does not answer. A command may still be carried out.\n"
                )
            }
            store.release()
            while try await client.get("/letters").status != 200 { await Task.yield() }
        }
    }

    @Test func `while the store hangs, few requests wait for it, and the others are answered at once`() async throws {
        let store = MemoryStore()
        let id = "00000000-0000-8001-8000-010000000001"
        try await Self.run(store: store, patience: GatewayHarness.forever) { _, service in
            let client = try AdminClient(socket: service.socket)
            store.hold()
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<BoundedRequests.limit {
                    group.addTask { try await client.post("/letters/retry", Array(id.utf8)).status }
                }
                while store.heldCount < BoundedRequests.limit { await Task.yield() }
                for _ in 0..<20 {
                    let answer = try await client.get("/letters")
                    #expect(answer.status == 503)
                    #expect(
                        String(decoding: answer.body, as: UTF8.self)
                            == "The store or the event loop does not answer. A command may still be carried out.\n"
                    )
                }
                #expect(store.heldCount == BoundedRequests.limit)
                // What waits comes from the event loop, which does not hang.
                let waiting = try await client.get("/waiting").status
                #expect(waiting == 200)
                store.release()
                for try await status in group { #expect(status == 200) }
            }
            let status = try await client.get("/letters").status
            #expect(status == 200)
        }
    }

    @Test func `the metrics and the status have the PINGs to an upstream`() async throws {
        try await Self.run { harness, service in
            var activity = ProviderActivity()
            activity.pings.sent = 3
            activity.pings.wasAnswered(afterNanoseconds: 40_000_000)
            activity.pings.unanswered = 1
            harness.watch.observed(activity)
            let text = try await service.get("/metrics").body
            for line in [
                #"pings_sent_total{upstream="apns"} 3"#, #"pings_answered_total{upstream="apns"} 1"#,
                #"pings_unanswered_total{upstream="apns"} 1"#, #"ping_seconds_bucket{upstream="apns",le="0.02"} 0"#,
                #"ping_seconds_bucket{upstream="apns",le="0.05"} 1"#, #"ping_seconds_sum{upstream="apns"} 0.04"#,
                #"ping_seconds_count{upstream="apns"} 1"#,
            ] {
                #expect(text.contains("\nferry_gateway_upstream_\(line)\n"), "\(line)")
            }
            let status = try JSONDecoder().decode(
                GatewayStatus.self,
                from: Data(try await service.get("/status").body.utf8)
            )
            let pings = GatewayStatus.Upstream.Pings(sent: 3, answered: 1, unanswered: 1, last: 0.04)
            #expect(status.upstreams.map(\.pings) == [pings])
        }
    }

    @Test func `what waits is shown over the socket alone, also without a store`() async throws {
        try await Self.run([HTTP2Rule(prefix: [], action: .silence)]) { harness, service in
            let notification = try PushNotification(Payload(alert: "Hello"))
            _ = try await withProvider(harness.client) { provider in
                for number in 0..<3 {
                    var batch = PushBatch()
                    try batch.append(notification, to: GatewayHarness.device(number), tag: PushTag(UInt64(number)))
                    try await provider.submit(&batch)
                }
                return await provider.shutDown(within: GatewayHarness.forever)
            }
            let client = try AdminClient(socket: service.socket)
            var page = WaitingSums()
            while page.sums.reduce(0, { $0 + $1.count }) < 3 {
                let answer = try await client.get("/waiting/sums")
                #expect(answer.status == 200)
                page = try JSONDecoder().decode(WaitingSums.self, from: Data(answer.body))
            }
            #expect(Set(page.sums.map(\.client)) == ["old stack"] && page.next == nil)
            let answer = try await client.get("/waiting?client=old%20stack")
            let rows = try JSONDecoder().decode(WaitingPage.self, from: Data(answer.body)).notifications
            let tokens = try (0..<3).map { try GatewayHarness.device($0).hex }
            #expect(Set(rows.map(\.token)) == Set(tokens) && rows.allSatisfy { $0.topic == GatewayHarness.topic })
            let other = try await client.get("/waiting?client=other")
            #expect(String(decoding: other.body, as: UTF8.self) == #"{"notifications":[]}"#)
            let unknown = try await client.get("/waiting?reason=none")
            #expect(unknown.status == 400)
            let port = try await service.get("/waiting").status
            #expect(port == 404)
        }
    }

    @Test func `a long request for what waits gives what it has, and the place of the next one`() async throws {
        let silent = try GatewayHarness.device(1)
        try await Self.run([HTTP2Rule(tokens: [silent], action: .silence)], pageTime: .zero) { harness, service in
            let notification = try PushNotification(Payload(alert: "Hello"))
            // The first one stays, so a reader must also look at the places of those that have ended.
            let count = GatewayMachine.placesInTurn + 100
            _ = try await withProvider(harness.client) { provider in
                // APNs allows one request at a time until it has accepted one.
                let first = Submission(notification, to: try GatewayHarness.device(0), tag: PushTag(0))
                try await provider.submit(contentsOf: [first])
                while try await harness.gateway.counts.accepted < 1 { await Task.yield() }
                try await provider.submit(
                    contentsOf: (1...count).map {
                        Submission(notification, to: try GatewayHarness.device($0), tag: PushTag(UInt64($0)))
                    }
                )
                return await provider.shutDown(within: GatewayHarness.forever)
            }
            while try await harness.gateway.counts.accepted < count { await Task.yield() }
            let client = try AdminClient(socket: service.socket)
            func page(_ query: String) async throws -> WaitingPage {
                try JSONDecoder().decode(
                    WaitingPage.self,
                    from: Data(try await client.get("/waiting\(query)").body)
                )
            }
            let begin = try await page("")
            let next = try #require(begin.next)
            #expect(begin.notifications.map(\.token) == [silent.hex])
            let end = try await page("?after=\(next)")
            #expect(end.notifications.isEmpty && end.next == nil)
            let answer = try await client.get("/waiting/sums")
            let sums = try JSONDecoder().decode(WaitingSums.self, from: Data(answer.body))
            #expect(sums.sums.map(\.count) == [1] && sums.next != nil)
        }
    }

    @Test func `a request without the token is refused`() async throws {
        try await Self.run(token: "secret") { _, service in
            let without = try await service.get("/status").status
            let with = try await service.get("/status", ["Authorization": "Bearer secret"]).status
            #expect(without == 401 && with == 200)
        }
    }

    @Test func `the socket is for its owner alone`() async throws {
        try await Self.run { _, service in
            var status = stat()
            #expect(stat(service.socket, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
        }
    }
}
