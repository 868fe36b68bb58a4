import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// What the peers of a gateway must not be able to stop: a gate, a topic, a client, the side connection.
@Suite struct StandstillTests {
    private static let other = Outcome.rejected(Rejection(reason: .deviceTokenNotForTopic, origin: .apns, status: 400))
    private static let bad = Outcome.rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))

    /// A gateway with clients that share one route, or have several topics each. APNs answers after a step of 50 ms.
    private final class Site {
        typealias APNs = (_ token: UInt8, _ topic: String) -> Outcome?

        let machine: GatewayMachine
        private var now = Moment(monotonic: .uptimeNanoseconds(1_000_000_000_000), epochSeconds: 1_700_000_000)
        private var underWay: [(tag: UInt64, kind: UInt8, topic: String)] = []
        /// The number of each notification, by its tag.
        private var numbers: [UInt64: UInt32] = [:]
        private var count: UInt32 = 0
        private let apns: APNs
        /// The numbers of the notifications that APNs accepted, in order.
        private(set) var accepted: [UInt32] = []

        /// - Parameter apns: the answer to a token that begins with this byte; nil: none, ever.
        init(clients: Int = 1, topics: [String] = ["com.example.app"], apns: @escaping APNs) {
            self.apns = apns
            let dispatch = Dispatch(
                identities: (0..<clients).map { ClientIdentity(name: "\($0)", routes: Array(topics.indices)) },
                routes: topics.map { Route(upstream: 0, topic: Array($0.utf8)) },
                upstreams: 1,
                node: 1
            )
            self.machine = GatewayMachine(dispatch) { _, token, _ in
                ReplayKey(high: 0, low: token.reduce(0) { $0 << 8 | UInt64($1) })
            }
        }

        func isOpen(_ client: Int) -> Bool { self.machine.isOpen(identity: client, now: self.now) }

        func connect(_ client: Int = 0) -> ConnectionID {
            let id = self.machine.connected(identity: client, address: [192, 0, 2, 1], now: self.now)
            self.machine.sampled(id, roundTrip: .milliseconds(1))
            return id
        }

        /// Pushes to a new token that begins with this byte; returns its number.
        @discardableResult
        func push(_ kind: UInt8, on connection: ConnectionID) -> UInt32 {
            self.count += 1
            self.push(kind, number: self.count, on: connection)
            return self.count
        }

        func push(_ kind: UInt8, number: UInt32, badge: Int = 0, on connection: ConnectionID) {
            var bytes = ByteBuffer()
            let payload = #"{"aps":{"badge":\#(badge)}}"#
            bytes.writeMultipleIntegers(UInt8(1), number, UInt32(0), UInt16(5), kind, number)
            bytes.writeInteger(UInt16(payload.utf8.count))
            bytes.writeString(payload)
            self.machine.received(connection, bytes, now: self.now)
            self.collect()
        }

        private func collect() {
            _ = self.machine.takeActions()
            self.machine.withBatches(for: 0) { _, batch in
                while let next = batch.popFirst() {
                    let number = next.device.bytes.dropFirst().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                    let topic = next.notification.topic ?? ""
                    self.numbers[next.tag.rawValue] = number
                    self.underWay.append((next.tag.rawValue, next.device.bytes[0], topic))
                }
            }
        }

        func run(_ time: TimeAmount) {
            let end = self.now.monotonic + time
            while self.now.monotonic < end {
                let step = self.now.monotonic + .milliseconds(50)
                let seconds = (step - .uptimeNanoseconds(1_000_000_000_000)).nanoseconds / 1_000_000_000
                self.now = Moment(monotonic: step, epochSeconds: 1_700_000_000 + UInt32(seconds))
                var records: [OutcomeRecord] = []
                self.underWay.removeAll { tag, kind, topic in
                    guard let outcome = self.apns(kind, topic) else { return false }
                    records.append(OutcomeRecord(tag: PushTag(tag), outcome: outcome))
                    if case .accepted = outcome { self.accepted.append(self.numbers[tag] ?? 0) }
                    return true
                }
                self.machine.settled(records, now: self.now)
                if let next = self.machine.nextDeadline, next <= step { self.machine.timePassed(now: self.now) }
                self.collect()
            }
        }
    }

    @Test func `a gate that twenty dead tokens of one client shut is opened by the next good token of another`() {
        let site = Site(clients: 2) { kind, _ in kind == 0xdd ? Self.bad : .accepted(.confirmed) }
        for _ in 0..<20 { site.push(0xdd, on: site.connect(0)) }
        site.run(.seconds(1))
        #expect(site.isOpen(0) && site.isOpen(1))
        for _ in 0..<8 { site.push(1, on: site.connect(1)) }
        #expect(!site.isOpen(1) && site.isOpen(0))
        site.run(.seconds(3))
        #expect(site.accepted.count == 8)
        #expect(site.isOpen(1))
    }

    @Test func `a topic that takes nothing keeps no good token of another topic`() {
        let site = Site(topics: ["com.example.app", "com.example.app.voip"]) { kind, topic in
            kind == 1 && topic == "com.example.app" ? .accepted(.confirmed) : Self.other
        }
        site.push(1, on: site.connect())
        site.run(.seconds(1))
        for _ in 0..<100 {
            let connection = site.connect()
            for _ in 0..<4 { site.push(2, on: connection) }
            site.push(1, on: connection)
            site.run(.milliseconds(200))
        }
        // The side connections carry so many refusals in a minute.
        site.run(.seconds(40))
        #expect(site.accepted.count == 101)
    }

    @Test func `a token of an unknown topic waits its turn, but not for the end of all others`() {
        let site = Site(topics: ["com.example.app", "com.example.app.voip"]) { _, topic in
            topic == "com.example.app" ? .accepted(.confirmed) : Self.other
        }
        let connection = site.connect()
        for number in 1...1000 as ClosedRange<UInt32> { site.push(1, number: number, on: connection) }
        site.run(.seconds(5))
        #expect(site.accepted.count == 1000)
        for number in 1...1000 as ClosedRange<UInt32> { site.push(1, number: number, badge: 1, on: connection) }
        site.push(1, number: 5000, on: connection)
        for number in 1...1000 as ClosedRange<UInt32> { site.push(1, number: number, badge: 2, on: connection) }
        site.run(.seconds(5))
        #expect(site.accepted.count == 3001)
        #expect((site.accepted.firstIndex(of: 5000) ?? .max) < 2500)
    }

    @Test func `notifications that are never answered keep no others`() {
        let site = Site { kind, _ in kind == 0xee ? nil : .accepted(.confirmed) }
        let connection = site.connect()
        for _ in 0..<4 { site.push(0xee, on: connection) }
        for _ in 0..<30 { site.push(1, on: connection) }
        site.run(.seconds(12))
        #expect(site.accepted.count == 30)
    }

    @Test func `notifications that are never answered do not keep the side connection of suspicious clients`() {
        let site = Site(clients: 2) { kind, _ in
            switch kind {
            case 0xdd: Self.bad
            case 0xee: nil
            default: .accepted(.confirmed)
            }
        }
        let (first, second) = (site.connect(0), site.connect(1))
        for connection in [first, second] {
            site.push(1, on: connection)
            site.run(.seconds(1))
            for _ in 0..<6 { site.push(0xdd, on: connection) }
            site.run(.seconds(1))
        }
        for _ in 0..<6 { site.push(0xee, on: first) }
        for _ in 0..<50 { site.push(1, on: second) }
        site.run(.seconds(25))
        #expect(site.accepted.count == 52)
    }
}
