import FerryAdmin
import Testing

@testable import FerryGateway

/// The sentence that an operator reads first.
@Suite struct GatewayConditionTests {
    private static func status(_ change: (inout GatewayStatus) -> Void = { _ in }) -> GatewayStatus {
        let upstream = GatewayStatus.Upstream(
            name: "apns",
            address: "api.push.apple.com:443",
            state: .good,
            connections: 1,
            requests: 0,
            accepted: 0,
            refused: 0,
            held: 0,
            shutTopics: []
        )
        let client = GatewayStatus.Client(
            name: "shop",
            upstream: "apns",
            connections: 0,
            counts: FateCounts(),
            feedbackRows: 0,
            told: ""
        )
        var status = GatewayStatus(
            ferry: "1.0.0",
            now: 1_700_000_000,
            startedAt: 1_600_000_000,
            counts: FateCounts(),
            unanswered: 0,
            rate: .init(read: 0, accepted: 0, rejected: 0),
            history: [],
            refusals: [:],
            clients: [client],
            upstreams: [upstream],
            store: .good,
            certificates: [],
            alarms: [],
            changedFiles: []
        )
        change(&status)
        status.judge()
        return status
    }

    @Test func `a fresh gateway is well, and says that nothing has come`() {
        let status = Self.status()
        #expect(status.condition == Condition(.well, "Ready: nothing has come yet. 1 client may connect."))
        #expect(status.ready.isGood && status.delivering.isGood)
    }

    @Test func `shards without an owner, and own ones without the right, are named`() {
        var shards = (0..<4).map { GatewayStatus.Shard($0, owner: $0 == 1 ? nil : "gw1", term: "") }
        let none = "no gateway has the lock, so clients wait."
        let right = "PostgreSQL does not answer, so nothing is delivered."
        #expect(Self.status { $0.shards = shards }.troubles.map(\.sentence) == ["Shard 1: \(none)"])
        shards[1].owner = "gw2"
        (shards[0].rightSeconds, shards[2].rightSeconds, shards[3].rightSeconds) = (0, 2, 0)
        #expect(Self.status { $0.shards = shards }.troubles.map(\.sentence) == ["Shards 0, 3: \(right)"])
    }

    @Test func `a gateway that delivers says how fast`() {
        let status = Self.status {
            $0.counts.read = 100
            $0.rate = .init(read: 120.4, accepted: 0.5, rejected: 0)
        }
        let sentence = "Delivering: 120 a second come in, and 30 a minute are accepted."
        #expect(status.condition == Condition(.well, sentence))
    }

    @Test func `a gateway without APNs does not deliver, stays ready with its store, and says why`() {
        let status = Self.status {
            $0.upstreams[0].state = .failing
            $0.upstreams[0].lastError = AlarmLine(at: 1, "Connection refused.")
            $0.unanswered = 12
            $0.oldestAge = 3600
        }
        let sentence =
            "Not delivering to apns: there is no connection to api.push.apple.com:443: Connection refused. "
            + "12 notifications wait in the store."
        #expect(status.condition == Condition(.down, sentence))
        // Its cause stands there already.
        #expect(status.troubles.count == 1)
        #expect(status.ready.isGood)
        #expect(!status.delivering.isGood && status.delivering.sentence == sentence)
    }

    @Test func `a cause that names the address of APNs is not said twice`() {
        let cause = "No connection to api.push.apple.com:443: Connection refused."
        let status = Self.status {
            $0.upstreams[0].state = .failing
            $0.upstreams[0].lastError = AlarmLine(at: 1, cause)
        }
        #expect(status.condition == Condition(.down, "Not delivering to apns. \(cause)"))
    }

    @Test func `a gateway without APNs and without a store is not ready`() {
        let status = Self.status {
            $0.upstreams[0].state = .failing
            $0.store = .none
        }
        #expect(!status.ready.isGood)
    }

    @Test func `an upstream that no client uses makes no gateway be down, unless notifications wait for it`() {
        func status(_ change: (inout GatewayStatus) -> Void) -> GatewayStatus {
            Self.status {
                $0.store = .none
                var spare = $0.upstreams[0]
                spare.name = "spare"
                $0.upstreams.append(spare)
                change(&$0)
            }
        }
        let failing = status { $0.upstreams[1].state = .failing }
        #expect(failing.condition.level == .well && failing.troubles.isEmpty)
        #expect(failing.ready.isGood && failing.delivering.isGood)
        let waiting = status {
            $0.upstreams[1].state = .failing
            $0.upstreams[1].held = 1
        }
        #expect(waiting.condition.level == .down && !waiting.delivering.isGood)
        // The spare upstream delivers nothing for the client.
        let used = status { $0.upstreams[0].state = .failing }
        #expect(used.condition.level == .down && !used.ready.isGood && !used.delivering.isGood)
    }

    @Test func `each refused topic has its own cause and its own number, and not the last error of the upstream`() {
        let status = Self.status {
            $0.upstreams[0].shutTopics = [
                .init(topic: "com.example.shop", cause: "apns refuses com.example.shop: TopicDisallowed.", held: 1),
                .init(topic: "com.example.news", cause: "apns refuses com.example.news: MissingTopic.", held: 20),
            ]
            $0.upstreams[0].held = 21
            $0.upstreams[0].lastError = AlarmLine(at: 1, "The connection of another client was reset.")
        }
        let sentences = [
            "Not delivering: apns refuses com.example.shop: TopicDisallowed. One notification waits in the store.",
            "Not delivering: apns refuses com.example.news: MissingTopic. 20 notifications wait in the store.",
        ]
        #expect(status.troubles == sentences.map { Condition(.down, $0) })
        #expect(status.condition == status.troubles.first)
    }

    @Test func `a list that cannot be written is a trouble with its cause, whatever alarm came last`() {
        let status = Self.status {
            $0.listTrouble = "No space left on device"
            $0.counts.unwritten = 3
            $0.alarms = [AlarmLine(at: 1, "The alarm of another client.")]
        }
        let sentence = "The list of rejections cannot be written: No space left on device. 3 lines of it wait."
        #expect(status.troubles == [Condition(.trouble, sentence)])
        let other = Self.status {
            $0.counts.unwritten = 3
            $0.alarms = [AlarmLine(at: 1, "The list of rejections cannot be written: this is over.")]
        }
        #expect(other.troubles.isEmpty)
    }

    @Test func `an upstream with a notification that waits for long is a trouble, and the gateway delivers`() {
        let quiet = Self.status { $0.oldestAge = GatewayStatus.longWait - 1 }
        #expect(quiet.condition.level == .well)
        let status = Self.status { $0.oldestAge = 81 }
        #expect(status.condition == Condition(.trouble, "The oldest notification has waited for 81 s."))
        #expect(status.delivering.isGood)
    }

    @Test func `a certificate that ends in nine days is a trouble, and the gateway delivers`() {
        let status = Self.status {
            $0.certificates = [
                CertificateStatus(file: "far.pem", use: "listen.clientCA", endsAt: 1_800_000_000),
                CertificateStatus(file: "server.pem", use: "listen.cert", endsAt: 1_700_000_000 + 9 * 86_400 + 60),
            ]
        }
        let sentence = "The certificate server.pem ('listen.cert') ends in 9 days. Replace it, and reload."
        #expect(status.condition == Condition(.trouble, sentence))
        #expect(status.delivering.isGood)
        #expect(status.troubles.count == 1)
    }

    @Test func `a store that cannot be written is not ready, and one that was taken delivers nothing`() {
        let troubled = Self.status { $0.store = .troubled }
        #expect(troubled.condition.level == .trouble && !troubled.ready.isGood)
        let taken = Self.status { $0.store = .taken }
        #expect(taken.condition.level == .down && !taken.ready.isGood && !taken.delivering.isGood)
    }

    @Test func `the worst trouble comes first`() {
        let status = Self.status {
            $0.changedFiles = ["gateway.json"]
            $0.upstreams[0].state = .outage
        }
        #expect(status.troubles.map(\.level) == [.down, .trouble])
        let sentence = "gateway.json changed on disk, and was not read again. Reload, if the change is whole."
        #expect(status.troubles[1].sentence == sentence)
    }
}
