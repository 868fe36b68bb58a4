import FerryAdmin
import Testing

@testable import FerryAppStore

/// The sentence that an operator of a receiver reads first.
@Suite struct AppStoreConditionTests {
    static func status(_ change: (inout AppStoreStatus) -> Void = { _ in }) -> AppStoreStatus {
        let destination = AppStoreStatus.Destination(
            name: "http://localhost:8080",
            state: .good,
            waiting: 0,
            setAside: 0,
            underWay: 0,
            delivered: 5,
            failed: 0
        )
        var status = AppStoreStatus(
            ferry: "1.0.0",
            now: 1_700_000_000,
            startedAt: 1_600_000_000,
            posts: .init(posts: 0, verified: 0, taken: 0, copies: 0, postponed: 0, refused: 0),
            rate: Rate(read: 0, accepted: 0, rejected: 0),
            history: [],
            refusals: [:],
            answers: [:],
            destinations: [destination],
            store: .good,
            waiting: 0,
            unsent: 0,
            kept: 0,
            connections: 0,
            certificates: [],
            alarms: []
        )
        change(&status)
        status.judge()
        return status
    }

    @Test func `a fresh receiver is well, and says that nothing has come`() {
        let status = Self.status()
        #expect(status.condition == Condition(.well, "Ready: nothing has come yet."))
        #expect(status.ready.isGood && status.delivering.isGood)
    }

    @Test func `a receiver that works says how fast`() {
        let status = Self.status {
            $0.posts.posts = 100
            $0.rate = Rate(read: 120.4, accepted: 0.5, rejected: 0)
        }
        #expect(
            status.condition == Condition(.well, "Receiving: 120 a second come in, and 30 a minute are taken.")
        )
    }

    @Test func `with a store, a destination that fails leaves the receiver ready, and is named with its reason`() {
        let status = Self.status {
            $0.destinations[0].state = .failing
            $0.destinations[0].waiting = 12
            $0.destinations[0].lastFailure = AlarmLine(at: 1, "http://localhost:8080 answered 500")
            $0.oldestAge = 3600
        }
        let sentence =
            "Not delivering to http://localhost:8080: http://localhost:8080 answered 500. "
            + "12 notifications wait in the store."
        #expect(status.condition == Condition(.down, sentence))
        #expect(status.troubles.count == 1)
        #expect(status.ready.isGood)
        #expect(!status.delivering.isGood && status.delivering.sentence == sentence)
    }

    @Test func `without a store, a destination that fails takes the receiver out of service`() {
        let status = Self.status {
            $0.store = .none
            $0.destinations[0].state = .failing
            $0.destinations[0].lastFailure = AlarmLine(at: 1_700_000_000 - 60, "Connection refused.")
        }
        #expect(
            status.condition
                == Condition(
                    .down,
                    "Not taking notifications: http://localhost:8080 does not take them, and there is no store: "
                        + "Connection refused. Apple comes again."
                )
        )
        #expect(!status.ready.isGood)
    }

    @Test func `without a store, a failure of more than a minute ago leaves the receiver ready for the next post`() {
        let status = Self.status {
            $0.store = .none
            $0.destinations[0].state = .failing
            $0.destinations[0].lastFailure = AlarmLine(at: 1_700_000_000 - 61, "Connection refused.")
        }
        #expect(status.ready.isGood)
        #expect(status.condition.level == .down)
    }

    @Test func `a store that cannot be written, or does not answer, takes the receiver out of service`() {
        let troubled = Self.status {
            $0.store = .troubled
            $0.storeTrouble = "The disk is full."
        }
        let sentence = "Not taking notifications: the store cannot be written: The disk is full."
        #expect(troubled.ready == Health(isGood: false, sentence))
        #expect(troubled.condition.level == .down)
        let silent = Self.status { $0.store = .silent }
        #expect(!silent.ready.isGood && silent.condition.level == .down)
    }

    @Test func `a certificate that ends in nine days is a trouble, and the receiver works`() {
        let status = Self.status {
            $0.certificates = [
                CertificateStatus(file: "server.pem", use: "--cert", endsAt: 1_700_000_000 + 9 * 86_400 + 60)
            ]
        }
        let sentence = "The certificate server.pem ('--cert') ends in 9 days. Replace it, and restart."
        #expect(status.condition == Condition(.trouble, sentence))
        #expect(status.ready.isGood && status.delivering.isGood)
    }

    @Test func `what was given up, and what waits for nobody, is a trouble with its cure`() {
        let status = Self.status {
            $0.destinations[0].setAside = 2
            $0.unsent = 1
            $0.refusals = ["not_understood": 1, "forged": 500]
            $0.oldestAge = 61
        }
        #expect(
            status.troubles.map(\.sentence) == [
                "2 notifications for http://localhost:8080 were given up. 'ferry appstore redeliver --dead' tries again.",
                "1 notification waits for a URL that is not named any more. "
                    + "'ferry appstore redeliver --unsent' delivers to the URLs of now.",
                "1 genuine post had a form that this version does not know. Update Ferry.",
                "The oldest notification has waited for 61 s.",
            ]
        )
        #expect(status.condition.level == .trouble)
    }
}
