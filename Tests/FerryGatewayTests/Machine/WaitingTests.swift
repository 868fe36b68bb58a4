import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// The notifications without a final answer, as an operator sees them.
@Suite struct WaitingTests {
    private static let busy = Outcome.rejected(Rejection(reason: .serviceUnavailable, origin: .apns, status: 503))
    private static let refused = Outcome.rejected(Rejection(reason: .topicDisallowed, origin: .apns, status: 400))

    private func rows(
        _ scene: GatewayStoreScene,
        _ filter: WaitingFilter = WaitingFilter(),
        unreachable: Set<Int> = []
    ) -> [WaitingRow] {
        scene.machine.waiting(after: WaitingPlace(), filter, limit: .max, unreachable: unreachable, now: scene.now).rows
    }

    private func reasons(_ scene: GatewayStoreScene, unreachable: Set<Int> = []) -> [WaitingReason] {
        self.rows(scene, unreachable: unreachable).map(\.reason)
    }

    @Test func `a notification waits for the store first, and then for APNs`() throws {
        let scene = try GatewayStoreScene()
        scene.store.hold()
        scene.push([1], 1, on: scene.connect())
        #expect(self.reasons(scene) == [.store])
        scene.store.release()
        scene.collect()
        #expect(self.reasons(scene) == [.underWay])
        #expect(self.reasons(scene, unreachable: [0]) == [.noConnection])
        scene.answer([1])
        #expect(self.rows(scene).isEmpty)
    }

    @Test func `what APNs refuses for now waits for a pause, and names the refusal`() throws {
        let scene = try GatewayStoreScene()
        scene.push([1], 1, on: scene.connect())
        scene.answer([1], Self.busy)
        let row = try #require(self.rows(scene).first)
        #expect(row.reason == .backOff && row.lastReason == "ServiceUnavailable" && row.attempts == 1)
        // An upstream that is lost meanwhile does not make the pause shorter.
        #expect(self.reasons(scene, unreachable: [0]) == [.backOff])
        scene.wait(.minutes(1))
        #expect(self.reasons(scene) == [.underWay])
    }

    @Test func `a topic that is refused holds what was sent and what comes`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.answer([1], Self.refused)
        scene.push([2], 2, on: connection)
        #expect(self.reasons(scene) == [.topicRefused, .topicRefused])
    }

    @Test func `a gate that shuts holds what waited for its turn`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        // A client has four notifications under way at first.
        for number in UInt8(1)...8 { scene.push([number], UInt32(number), on: connection) }
        let reasons = self.reasons(scene)
        #expect(reasons.prefix(4).allSatisfy { $0 == .underWay } && reasons.dropFirst(4).allSatisfy { $0 == .turn })
        #expect(self.reasons(scene, unreachable: [0]).allSatisfy { $0 == .noConnection })
        scene.answer([1], Self.refused)
        let shut = self.reasons(scene)
        #expect(shut.count == 8 && shut[0] == .topicRefused && shut.suffix(4).allSatisfy { $0 == .topicRefused })
    }

    @Test func `a copy that must go over another connection waits for a side connection`() throws {
        let scene = try GatewayStoreScene()
        scene.push([1], 1, on: scene.connect())
        // The next side connection may be dialled in a second.
        scene.machine.dispatch.outgoing[0].side.dial(now: scene.now.monotonic)
        scene.machine.dispatch.outgoing[0].side.leave(1)
        scene.answer([1], .uncertain(.reset))
        let row = try #require(self.rows(scene).first)
        #expect(row.reason == .sideConnection && row.mayHaveArrived)
    }

    @Test func `a row has what the list of letters has`() throws {
        let scene = try GatewayStoreScene { $0.listenerUpstream = "sandbox" }
        scene.push([1, 0xfe], 1, on: scene.connect())
        scene.wait(.seconds(3))
        let row = try #require(self.rows(scene).first)
        #expect(row.apnsID == scene.sent.first?.notification.apnsID?.description)
        #expect(row.client == "old" && row.upstream == "sandbox" && row.topic == "com.example.app")
        #expect(row.token == "01fe" && row.readAt == 1_700_000_000 && row.age == 3 && row.expiration == 0)
        #expect(!row.mayHaveArrived && row.lastReason == nil)
    }

    @Test func `after a kill the same notifications wait, and may have arrived`() throws {
        let scene = try GatewayStoreScene()
        scene.push([1], 1, on: scene.connect())
        let before = try #require(self.rows(scene).first)
        scene.wait(.seconds(5))
        try scene.kill()
        let after = try #require(self.rows(scene).first)
        #expect(after.apnsID == before.apnsID && after.mayHaveArrived && after.age >= 5)
    }

    @Test func `after a reboot an age has the time before it`() throws {
        let scene = try GatewayStoreScene()
        scene.setClockBack(3600)
        scene.push([1], 1, on: scene.connect())
        scene.setClockForward(3600)
        // The monotonic clock shows 1,000 s.
        try scene.kill(reboots: true)
        #expect(self.rows(scene).map(\.age) == [3600])
        #expect(self.rows(scene, WaitingFilter(readBy: scene.now.epochSeconds - 3500)).count == 1)
        #expect(self.rows(scene, WaitingFilter(readBy: scene.now.epochSeconds - 3700)).isEmpty)
        scene.wait(.seconds(10))
        scene.setClockBack(60)
        #expect(self.rows(scene).map(\.age) == [3610])
        #expect(scene.machine.figures(now: scene.now).oldestAge == 3610)
    }

    @Test func `a filter chooses by client, reason and age`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.wait(.seconds(10))
        scene.push([2], 2, on: connection)
        #expect(self.rows(scene, WaitingFilter(client: "old")).count == 2)
        #expect(self.rows(scene, WaitingFilter(client: "new")).isEmpty)
        #expect(self.rows(scene, WaitingFilter(reason: .underWay)).count == 2)
        #expect(self.rows(scene, WaitingFilter(reason: .turn)).isEmpty)
        #expect(self.rows(scene, WaitingFilter(readBy: scene.now.epochSeconds - 5)).map(\.token) == ["01"])
        #expect(self.rows(scene, WaitingFilter(readBy: scene.now.epochSeconds)).count == 2)
        // The age counts, and not the system's clock.
        scene.setClockBack(3600)
        #expect(self.rows(scene, WaitingFilter(readBy: scene.now.epochSeconds - 5)).map(\.token) == ["01"])
    }

    @Test func `a turn looks at a bounded number of places, and the pages have all notifications once`() throws {
        let scene = try GatewayStoreScene()
        let count = 2 * GatewayMachine.placesInTurn + 1
        for number in 0..<count {
            let id = scene.machine.dispatch.jobs.reserve()
            let bytes = [UInt8](repeating: 1, count: 2)
            var job = bytes.withUnsafeBufferPointer { bytes in
                Job(
                    scope: ReplayScope(identity: 0, address: []),
                    token: bytes,
                    payload: bytes,
                    expiration: 0,
                    priority: 0,
                    first: .init(connection: ConnectionID(1), sequence: UInt64(number)),
                    readAt: scene.now.monotonic,
                    readAtSeconds: scene.now.epochSeconds
                )
            }
            job.wait = number.isMultiple(of: 2) ? .pause : .gate
            scene.machine.dispatch.jobs.insert(job, as: id)
        }
        var (place, counts): (WaitingPlace?, [Int]) = (WaitingPlace(), [])
        var sums: [WaitingSum] = []
        while let after = place {
            let page = scene.machine.waitingSums(after: after, WaitingFilter(), unreachable: [], now: scene.now)
            counts.append(page.sums.reduce(0) { $0 + $1.count })
            sums.add(page.sums)
            place = page.next
        }
        #expect(counts == [GatewayMachine.placesInTurn, GatewayMachine.placesInTurn, 1])
        #expect(
            sums == [
                WaitingSum(client: "old", reason: .backOff, count: count / 2 + 1, oldestAge: 0),
                WaitingSum(client: "old", reason: .topicRefused, count: count / 2, oldestAge: 0),
            ]
        )
        var (ids, pages): ([String], Int) = ([], 0)
        place = WaitingPlace()
        while let after = place {
            let page = scene.machine.waiting(
                after: after,
                WaitingFilter(reason: .backOff),
                limit: 100,
                unreachable: [],
                now: scene.now
            )
            #expect(page.rows.count <= 100)
            ids += page.rows.map(\.apnsID)
            pages += 1
            place = page.next
        }
        #expect(ids.count == count / 2 + 1 && Set(ids).count == ids.count && pages > 20)
    }
}
