import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// The gateway machine with a client and an upstream of the test's own, and the test's own time.
@Suite struct GatewayMachineTests {
    /// A gateway with one client stack. The test answers for APNs.
    private final class Scene {
        let machine: GatewayMachine
        var now = Moment(monotonic: .uptimeNanoseconds(1_000_000_000_000), epochSeconds: 1_700_000_000)
        var batch = PushBatch()
        private(set) var sent: [(tag: UInt64, device: DeviceToken, notification: PushNotification)] = []
        private(set) var actions: [GatewayMachine.Action] = []
        private(set) var events: [GatewayEvent] = []

        init(
            topics: [String] = ["com.example.app"],
            repeatsUnknown: Bool = true,
            jobLimit: Int = GatewayBounds.Jobs.count,
            _ change: (inout ClientIdentity) -> Void = { _ in }
        ) {
            var identity = ClientIdentity(name: "old", routes: Array(topics.indices))
            identity.repeatsUnknown = repeatsUnknown
            change(&identity)
            let dispatch = Dispatch(
                identities: [identity],
                routes: topics.map { Route(upstream: 0, topic: Array($0.utf8)) },
                upstreams: 1,
                node: 1,
                jobLimit: jobLimit
            )
            self.machine = GatewayMachine(dispatch) { topic, token, payload in
                var hasher = Hasher()
                hasher.combine(topic)
                for byte in token { hasher.combine(byte) }
                hasher.combine(-1)
                for byte in payload { hasher.combine(byte) }
                return ReplayKey(high: 0, low: UInt64(bitPattern: Int64(hasher.finalize())))
            }
        }

        func connect() -> ConnectionID {
            let id = self.machine.connected(identity: 0, address: [192, 0, 2, 1], now: self.now)
            self.machine.sampled(id, roundTrip: .milliseconds(1))
            return id
        }

        func push(
            _ token: [UInt8],
            _ identifier: UInt32 = 1,
            payload: String = #"{"aps":{"alert":"Hello"}}"#,
            expiration: UInt32 = 0,
            on connection: ConnectionID
        ) {
            var bytes = ByteBuffer()
            bytes.writeMultipleIntegers(UInt8(1), identifier, expiration, UInt16(token.count))
            bytes.writeBytes(token)
            bytes.writeInteger(UInt16(payload.utf8.count))
            bytes.writeString(payload)
            self.machine.received(connection, bytes, now: self.now)
            self.collect()
        }

        func collect() {
            self.actions += self.machine.takeActions()
            self.events += self.machine.takeEvents()
            self.machine.withBatches(for: 0) { _, batch in
                while let next = batch.popFirst() {
                    self.sent.append((next.tag.rawValue, next.device, next.notification))
                }
            }
        }

        /// Answers the notifications that were sent to this token and not answered.
        func answer(_ token: [UInt8], _ outcome: Outcome) {
            let records = self.sent.filter { $0.device.bytes == token }.map {
                OutcomeRecord(tag: PushTag($0.tag), outcome: outcome)
            }
            self.sent.removeAll { $0.device.bytes == token }
            self.machine.settled(records, now: self.now)
            self.collect()
        }

        func wait(_ time: TimeAmount) {
            let end = self.now.monotonic + time
            while let next = self.machine.nextDeadline, next <= end {
                self.advance(to: max(next, self.now.monotonic))
                self.machine.timePassed(now: self.now)
                self.collect()
            }
            self.advance(to: end)
        }

        private func advance(to time: NIODeadline) {
            let seconds = (time - .uptimeNanoseconds(1_000_000_000_000)).nanoseconds / 1_000_000_000
            self.now = Moment(monotonic: time, epochSeconds: 1_700_000_000 + UInt32(seconds))
        }

        var told: [ErrorResponse] {
            self.actions.compactMap { if case .tell(let response) = $0.work { response } else { nil } }
        }

        func warm(on connection: ConnectionID) {
            self.push([0xff], 0, on: connection)
            self.answer([0xff], .accepted(.confirmed))
        }
    }

    private static let fault = Outcome.rejected(
        Rejection(reason: .serviceUnavailable, origin: .apns, status: 503)
    )
    private static let bad = Outcome.rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))

    @Test func `a bad token is told once, when its client is calm`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.warm(on: connection)
        scene.push([1], 1, on: connection)
        scene.push([2], 2, on: connection)
        scene.answer([1], Self.bad)
        scene.answer([2], .accepted(.confirmed))
        #expect(scene.told.isEmpty)
        scene.wait(.seconds(1))
        #expect(scene.told == [ErrorResponse(status: .invalidToken, identifier: 1)])
        #expect(scene.machine.counts.isConserved)
        #expect(scene.machine.figures(now: scene.now).clients.map(\.episodes) == [1])
    }

    @Test func `no client hears of a bad token before something was accepted`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.push([2], 2, on: connection)
        scene.answer([1], Self.bad)
        scene.wait(.seconds(5))
        #expect(scene.told.isEmpty)
        #expect(scene.events.contains { if case .refused(let refusal) = $0 { refusal.status == nil } else { false } })
        // The next push to the token tells it, once the topic is known to be good.
        scene.warm(on: connection)
        scene.push([1], 3, on: connection)
        #expect(scene.sent.allSatisfy { $0.device.bytes != [1] })
        scene.answer([2], .accepted(.confirmed))
        scene.wait(.seconds(2))
        #expect(scene.told == [ErrorResponse(status: .invalidToken, identifier: 3)])
        #expect(scene.machine.counts.knownBad == 1)
        #expect(scene.machine.counts.isConserved)
    }

    @Test func `a list that begins with many dead tokens is delivered`() {
        let scene = Scene()
        let connection = scene.connect()
        for number in 0..<40 { scene.push([UInt8(number)], UInt32(number), on: connection) }
        for number in 0..<24 {
            scene.answer([UInt8(number)], Self.bad)
            scene.wait(.seconds(1))
        }
        for _ in 0..<40 {
            for number in 24..<40 { scene.answer([UInt8(number)], .accepted(.confirmed)) }
            scene.wait(.seconds(1))
        }
        #expect(scene.machine.counts.accepted == 16)
        #expect(scene.machine.counts.refused == 24)
        #expect(scene.machine.jobCount == 0)
        #expect(scene.told.isEmpty)
        #expect(scene.machine.counts.isConserved)
    }

    @Test func `a wrong environment sounds the alarm, and tells nobody`() {
        let scene = Scene()
        let connection = scene.connect()
        for number in 0..<100 { scene.push([UInt8(number)], UInt32(number), on: connection) }
        for number in 0..<100 { scene.answer([UInt8(number)], Self.bad) }
        scene.wait(.seconds(60))
        #expect(scene.told.isEmpty)
        #expect(
            scene.events.contains(.alarm(upstream: 0, topic: "com.example.app", Reason.badDeviceToken))
        )
        #expect(scene.machine.closedReason(of: 0, now: scene.now) == .topicRefused)
        #expect(scene.machine.closedReason(now: scene.now) == nil)
    }

    @Test func `a client whose notifications fill its share is refused for its room, then all for the whole room`() {
        let scene = Scene(jobLimit: 100)
        let connection = scene.connect()
        func push(_ numbers: Range<UInt8>) {
            for number in numbers { scene.push([number], UInt32(number), on: connection) }
        }
        push(0..<49)
        #expect(scene.machine.closedReason(of: 0, now: scene.now) == nil)
        push(49..<50)
        #expect(scene.machine.closedReason(of: 0, now: scene.now) == .noClientRoom)
        #expect(scene.machine.closedReason(now: scene.now) == nil)
        push(50..<100)
        #expect(scene.machine.closedReason(of: 0, now: scene.now) == .noRoom)
    }

    @Test func `a client whose notifications wait at a gate and fill its share is refused for the gate`() {
        let scene = Scene(jobLimit: 100)
        let connection = scene.connect()
        for number: UInt8 in 0..<90 { scene.push([number], UInt32(number), on: connection) }
        let refusal = Outcome.rejected(Rejection(reason: .topicDisallowed, origin: .apns, status: 400))
        for number: UInt8 in 0..<90 { scene.answer([number], refusal) }
        #expect(scene.machine.closedReason(of: 0, now: scene.now) == .topicRefused)
        let shut = ShutTopic(topic: "com.example.app", reason: .topicDisallowed, held: 90)
        #expect(scene.machine.figures(now: scene.now).upstreams.map(\.shutTopics) == [[shut]])
    }

    @Test func `a token for another topic goes out with the next one, and is refused after the last`() {
        let scene = Scene(topics: ["com.example.app", "com.example.app.voip"])
        let connection = scene.connect()
        let other = Outcome.rejected(Rejection(reason: .deviceTokenNotForTopic, origin: .apns, status: 400))
        scene.push([1], 1, on: connection)
        scene.answer([1], other)
        #expect(scene.sent.map(\.notification.topic) == ["com.example.app.voip"])
        scene.answer([1], other)
        #expect(scene.sent.isEmpty)
        #expect(scene.machine.counts.refused == 1)
    }

    @Test func `the topic that APNs took for a token is the first at the next push`() {
        let topics = ["com.example.app", "com.example.app.voip", "com.example.app.complication"]
        let scene = Scene(topics: topics)
        let connection = scene.connect()
        let other = Outcome.rejected(Rejection(reason: .deviceTokenNotForTopic, origin: .apns, status: 400))
        scene.push([1], 1, on: connection)
        scene.answer([1], other)
        scene.answer([1], .accepted(.confirmed))
        scene.push([1], 2, on: connection)
        #expect(scene.sent.map(\.notification.topic) == [topics[1]])
        // The app may have moved on. Every topic is tried once.
        scene.answer([1], other)
        #expect(scene.sent.map(\.notification.topic) == [topics[2]])
        scene.answer([1], other)
        #expect(scene.sent.map(\.notification.topic) == [topics[0]])
        scene.answer([1], other)
        #expect(scene.sent.isEmpty)
        #expect(scene.machine.counts.refused == 1)
    }

    @Test func `a notification that APNs cannot accept now is sent again with the same apns-id`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        let name = scene.sent.first?.notification.apnsID
        #expect(name != nil)
        for _ in 0..<3 {
            scene.answer([1], .rejected(Rejection(reason: .serviceUnavailable, origin: .apns, status: 503)))
            #expect(scene.sent.isEmpty)
            scene.wait(.seconds(70))
            #expect(scene.sent.map(\.notification.apnsID) == [name])
        }
        scene.answer([1], .accepted(.confirmed))
        #expect(scene.machine.counts.accepted == 1)
        #expect(scene.machine.counts.forwarded == 1)
        #expect(scene.machine.jobCount == 0)
    }

    @Test func `an APNs that answers everything with 503 is said once, and that it takes again`() {
        let scene = Scene()
        let connection = scene.connect()
        for number: UInt8 in 1...3 { scene.push([number], UInt32(number), on: connection) }
        for _ in 0..<60 {
            for number: UInt8 in 1...3 { scene.answer([number], Self.fault) }
            scene.wait(.seconds(1))
        }
        scene.wait(.minutes(1))
        scene.answer([1], .accepted(.confirmed))
        #expect(scene.events == [.outage(upstream: 0, .serviceUnavailable), .outageOver(upstream: 0)])
    }

    @Test(arguments: [1, 2] as [UInt8])
    func `the notifications of one or two devices that always get 503 are no outage of the upstream`(devices: UInt8) {
        let scene = Scene()
        let connection = scene.connect()
        for number in 1...devices { scene.push([number], UInt32(number), on: connection) }
        for _ in 0..<300 {
            for number in 1...devices { scene.answer([number], Self.fault) }
            scene.wait(.seconds(1))
        }
        #expect(scene.events.isEmpty)
        #expect(scene.machine.figures(now: scene.now).upstreams.map(\.hasOutage) == [false])
        #expect(scene.machine.figures(now: scene.now).oldestAge ?? 0 >= 300)
    }

    @Test func `a notification that expires here is dropped, and counted`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.push([1], 1, expiration: scene.now.epochSeconds + 30, on: connection)
        scene.answer([1], .undelivered(.noConnection))
        scene.wait(.seconds(1))
        for _ in 0..<8 {
            scene.answer([1], .undelivered(.noConnection))
            scene.wait(.seconds(20))
        }
        #expect(scene.machine.counts.expired == 1)
        #expect(scene.machine.jobCount == 0)
    }

    @Test(arguments: [1, 86_400, 1_699_999_999, 1 << 31, UInt32.max])
    func `an expiration that has passed or is negative means one attempt`(expiration: UInt32) {
        let scene = Scene()
        let connection = scene.connect()
        scene.push([1], 1, expiration: expiration, on: connection)
        #expect(scene.sent.first?.notification.expiration == .once)
    }

    @Test func `a payload that is no JSON is refused here, with status 7`() {
        let scene = Scene()
        let connection = scene.connect()
        // A client that was not seen to number its notifications is told nothing.
        scene.warm(on: connection)
        scene.push([3], 3, on: connection)
        scene.answer([3], .accepted(.confirmed))
        scene.push([1], 1, payload: "no JSON", on: connection)
        scene.push([2], 2, on: connection)
        scene.answer([2], .accepted(.confirmed))
        scene.wait(.seconds(1))
        #expect(scene.told == [ErrorResponse(status: .invalidPayloadSize, identifier: 1)])
        #expect(scene.machine.counts.refusedHere == 1)
        #expect(scene.machine.counts.isConserved)
    }

    @Test func `a device that lost the app is in the feedback list, until it gets a notification`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.push([2], 2, on: connection)
        scene.answer([1], .rejected(Rejection(reason: .unregistered, origin: .apns, status: 410)))
        scene.answer([2], .rejected(Rejection(reason: .unregistered, origin: .apns, status: 410)))
        scene.push([2], 3, on: connection)
        scene.answer([2], .accepted(.confirmed))
        var rows: [FeedbackRows.Row] = []
        scene.machine.withFeedback(now: scene.now) { rows = $0.claim(0, now: scene.now.monotonic).rows }
        #expect(rows.map(\.token) == [[1]])
        #expect(scene.told.isEmpty)
    }

    @Test func `a verdict that is five seconds late gives no error response`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.warm(on: connection)
        scene.push([1], 1, on: connection)
        scene.push([2], 2, on: connection)
        scene.answer([2], .accepted(.confirmed))
        scene.wait(.seconds(5))
        scene.answer([1], Self.bad)
        scene.wait(.seconds(10))
        #expect(scene.told.isEmpty)
        #expect(scene.machine.counts.released == 1)
        #expect(scene.machine.counts.deferred == 1)
        // The next push to the token tells it.
        scene.push([1], 3, on: connection)
        scene.wait(.seconds(2))
        #expect(scene.told == [ErrorResponse(status: .invalidToken, identifier: 3)])
    }

    @Test func `a copy that a client sends after an error response reaches APNs once`() {
        let scene = Scene()
        let first = scene.connect()
        scene.warm(on: first)
        for number in 1...20 { scene.push([UInt8(number)], UInt32(number), on: first) }
        scene.answer([5], Self.bad)
        for number in 1...20 where number != 5 { scene.answer([UInt8(number)], .accepted(.confirmed)) }
        scene.wait(.seconds(1))
        #expect(scene.told.map(\.identifier) == [5])
        scene.machine.inputEnded(first, now: scene.now)
        scene.collect()
        let second = scene.connect()
        for number in 6...20 { scene.push([UInt8(number)], UInt32(number - 6), on: second) }
        #expect(scene.sent.isEmpty)
        #expect(scene.machine.counts.swallowed == 15)
        // On purpose, it arrives again.
        scene.push([6], 100, on: second)
        #expect(scene.sent.count == 1)
        #expect(scene.machine.counts.isConserved)
    }

    @Test(arguments: [true, false])
    func `a notification that may have arrived is sent once more, or not at all`(isRepeated: Bool) {
        let scene = Scene(repeatsUnknown: isRepeated)
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.answer([1], .uncertain(.positionUnknown))
        #expect(scene.sent.count == (isRepeated ? 1 : 0))
        scene.answer([1], .uncertain(.positionUnknown))
        #expect(scene.sent.isEmpty)
        #expect(scene.machine.counts.unknown == (isRepeated ? 0 : 1))
        #expect(scene.machine.counts.copies == (isRepeated ? 1 : 0))
        #expect(scene.machine.counts.deadLetters == (isRepeated ? 1 : 0))
        let lines = scene.events.compactMap { if case .uncertain(_, let again) = $0 { again } else { nil } }
        #expect(lines == [isRepeated])
        #expect(scene.machine.counts.uncertain == lines.count)
        #expect(scene.machine.counts.isConserved && scene.machine.counts.unanswered == 0)
    }

    @Test func `a notification that may have arrived is sent once more, however often APNs was too busy`() {
        let scene = Scene()
        scene.push([1], 1, on: scene.connect())
        for _ in 0..<3 {
            scene.answer([1], .rejected(Rejection(reason: .serviceUnavailable, origin: .apns, status: 503)))
            scene.wait(.seconds(70))
        }
        scene.answer([1], .uncertain(.positionUnknown))
        #expect(scene.sent.count == 1)
        scene.answer([1], .uncertain(.positionUnknown))
        #expect(scene.sent.isEmpty)
        #expect(scene.machine.counts.deadLetters == 1)
    }

    @Test func `a notification that expires in the gateway is in the list`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.push([1], 1, expiration: 1_700_000_005, on: connection)
        scene.answer([1], .rejected(Rejection(reason: .serviceUnavailable, origin: .apns, status: 503)))
        scene.push([2], 2, on: connection)
        scene.answer([2], .expired)
        scene.wait(.seconds(10))
        scene.answer([1], .rejected(Rejection(reason: .serviceUnavailable, origin: .apns, status: 503)))
        let expired = scene.events.compactMap { if case .expired(let item) = $0 { item.token } else { nil } }
        #expect(expired == [[2], [1]])
        #expect(scene.machine.counts.expired == 2 && scene.machine.counts.isConserved)
    }

    @Test func `a shutdown ends a calm connection with status 10 and the last accepted identifier`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.push([2], 2, on: connection)
        scene.answer([1], .accepted(.confirmed))
        scene.answer([2], .accepted(.confirmed))
        scene.machine.shutDown(now: scene.now)
        scene.collect()
        scene.wait(.seconds(15))
        #expect(scene.told == [ErrorResponse(status: .shutdown, identifier: 2)])
        #expect(scene.machine.connectionCount == 0)
    }

    @Test func `a gateway that was stopped during its shutdown reads what clients wrote meanwhile`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.machine.shutDown(now: scene.now)
        scene.collect()
        scene.now.monotonic = scene.now.monotonic + .seconds(13)
        scene.machine.putEndOff(now: scene.now)
        // The answer has waited in the process.
        scene.answer([1], .accepted(.confirmed))
        #expect(scene.machine.connectionCount == 1)
        // The handshake of this one has ended only now.
        let late = scene.connect()
        scene.push([2], 2, on: connection)
        scene.push([3], 3, on: connection)
        scene.push([4], 1, on: late)
        scene.push([5], 2, on: late)
        for token: UInt8 in 2...5 { scene.answer([token], .accepted(.confirmed)) }
        scene.wait(.seconds(15))
        #expect(scene.machine.counts.accepted == 5)
        #expect(scene.told.map(\.identifier).sorted() == [2, 3])
        #expect(scene.machine.connectionCount == 0)
    }

    @Test func `bytes that are no notification are reported, and end the connection`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.machine.received(connection, ByteBuffer(string: "GET / HTTP/1.0\r\n"), now: scene.now)
        scene.collect()
        #expect(scene.events == [.violation(identity: 0, .unknownCommand(UInt8(ascii: "G")))])
        scene.wait(.seconds(15))
        #expect(scene.machine.connectionCount == 0)
    }

    @Test func `a notification that is left at the end is in the list of dead letters`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.machine.abandon()
        #expect(!scene.machine.giveUpUnanswered())
        scene.collect()
        #expect(scene.events.contains { if case .deadLetter(let refusal) = $0 { refusal.token == [1] } else { false } })
        #expect(scene.machine.jobCount == 0)
        #expect(scene.machine.counts.isConserved)
    }

    @Test func `a device that comes and goes is in the feedback list once`() {
        var rows = FeedbackRows()
        for _ in 0..<3 {
            rows.add(.init(token: [1], since: 1), of: 0)
            rows.remove([1], of: 0)
        }
        rows.add(.init(token: [1], since: 2), of: 0)
        let claim = rows.claim(0, now: .uptimeNanoseconds(0))
        #expect(claim.rows == [.init(token: [1], since: 2)])
        rows.giveBack(claim)
        #expect(rows.claim(0, now: .uptimeNanoseconds(0)).rows.count == 1)
    }

    @Test func `of the feedback rows in a shared store, the newest are remembered, and none is removed for room`() {
        func token(_ number: Int) -> [UInt8] { [UInt8(number >> 8 & 255), UInt8(number & 255)] }
        var rows = FeedbackRows(in: .sharedStore)
        for number in 0...FeedbackRows.sharedLimit { rows.add(.init(token: token(number), since: 1), of: 0) }
        #expect(rows.count(of: 0) == FeedbackRows.sharedLimit)
        #expect(!rows.takeChanges().contains { $0.since == nil })
        rows.remove(token(0)[...], of: 0)
        #expect(rows.takeChanges().isEmpty)
        rows.remove(token(1)[...], of: 0)
        #expect(rows.takeChanges().map(\.token) == [token(1)])
    }

    @Test func `a full spool stops the reading, and then ends the connection`() {
        let scene = Scene(jobLimit: 100)
        let connection = scene.connect()
        for number in 0..<2000 {
            scene.push([UInt8(number >> 8), UInt8(number & 255)], UInt32(number), on: connection)
        }
        #expect(scene.actions.contains { $0.work == .read(false) })
        scene.wait(.seconds(3))
        #expect(scene.machine.counts.released == 0)
        #expect(!scene.machine.isOpen(identity: 0, now: scene.now))
        scene.wait(.seconds(12))
        #expect(scene.actions.contains { $0.work == .closeOutput })
        #expect(scene.machine.connectionCount == 0)
        #expect(scene.machine.jobCount == 2000)
    }

    // MARK: Clients that the configuration describes

    @Test func `a client that never sends again is told nothing, and its repeats arrive`() {
        let scene = Scene { $0.resends = false }
        let connection = scene.connect()
        scene.warm(on: connection)
        for identifier in UInt32(1)...10 { scene.push([UInt8(identifier)], identifier, on: connection) }
        scene.answer([1], Self.bad)
        scene.wait(.seconds(10))
        scene.push([1], 11, on: connection)
        scene.wait(.seconds(10))
        #expect(scene.told.isEmpty)
        let refused = scene.events.filter { if case .refused = $0 { true } else { false } }
        #expect(refused.count == 2)
        while let device = scene.sent.first?.device { scene.answer(device.bytes, .accepted(.confirmed)) }
        let other = scene.connect()
        scene.push([2], 1, on: other)
        #expect(scene.sent.map(\.device.bytes) == [[2]])
    }

    @Test func `a client that is known to send again is told in a slow flow from the first connection on`() {
        for (resends, count) in [(nil, 0), (true, 1)] as [(Bool?, Int)] {
            let scene = Scene { $0.resends = resends }
            let connection = scene.connect()
            scene.warm(on: connection)
            scene.push([1], 1, on: connection)
            scene.answer([1], Self.bad)
            for identifier in UInt32(2)...40 {
                scene.wait(.milliseconds(50))
                scene.push([UInt8(identifier)], identifier, on: connection)
                scene.answer([UInt8(identifier)], .accepted(.confirmed))
            }
            #expect(scene.told.count == count)
        }
    }

    // MARK: What no error response can name, and wrong lengths

    private static func simple(_ token: [UInt8], _ payload: [UInt8], length: Int? = nil) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeMultipleIntegers(UInt8(0), UInt16(token.count))
        bytes.writeBytes(token)
        bytes.writeInteger(UInt16(length ?? payload.count))
        bytes.writeBytes(payload)
        return bytes
    }

    private static func refusals(_ scene: Scene) -> [GatewayEvent.Refusal] {
        scene.events.compactMap { if case .refused(let refusal) = $0 { refusal } else { nil } }
    }

    @Test func `a refusal of command 0 is listed without a status`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.warm(on: connection)
        scene.machine.received(connection, Self.simple([1, 1], Array("{}".utf8)), now: scene.now)
        scene.machine.received(connection, Self.simple([2, 2], Array("no JSON".utf8)), now: scene.now)
        scene.machine.received(connection, Self.simple([], Array("{}".utf8)), now: scene.now)
        scene.collect()
        scene.answer([1, 1], Self.bad)
        scene.push([3, 3], 7, on: connection)
        scene.answer([3, 3], Self.bad)
        #expect(Self.refusals(scene).map(\.token) == [[2, 2], nil, [1, 1], [3, 3]])
        #expect(Self.refusals(scene).map(\.status) == [nil, nil, nil, .invalidToken])
    }

    @Test func `a length that counts characters is named, and the error response comes before the end`() {
        let scene = Scene()
        let connection = scene.connect()
        scene.warm(on: connection)
        scene.push([1, 1], 1, on: connection)
        scene.answer([1, 1], .accepted(.confirmed))
        let payload = #"{"aps":{"alert":"Grüße aus Köln"}}"#
        var bytes = ByteBuffer()
        bytes.writeMultipleIntegers(UInt8(1), UInt32(2), UInt32(0), UInt16(2), UInt16(0x0202), UInt16(payload.count))
        bytes.writeString(payload)
        scene.machine.received(connection, bytes, now: scene.now)
        scene.collect()
        #expect(Self.refusals(scene).map(\.reason) == [.payloadLengthInCharacters])
        #expect(Self.refusals(scene).map(\.status) == [.invalidPayloadSize])
        scene.wait(.seconds(1))
        #expect(scene.told == [ErrorResponse(status: .invalidPayloadSize, identifier: 2)])
        let works = scene.actions.map(\.work)
        let tell = works.firstIndex { if case .tell = $0 { true } else { false } }
        let end = works.firstIndex(of: .closeOutput)
        #expect((tell ?? .max) < (end ?? .min))
    }
}
