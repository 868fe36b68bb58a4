import FerryCore
import FerryMachine
import Foundation
import NIOCore
import Testing

@testable import FerryGateway

/// The letters: what the store keeps of notifications that are not sent again, and what operators do with them.
@Suite struct LetterTests {
    private static let wrong = Outcome.rejected(Rejection(reason: .badPriority, origin: .apns, status: 400))

    private func letters(_ scene: GatewayStoreScene) -> [Letter] {
        scene.store.page(.letters, after: [], limit: .max).compactMap { Letter($0) }
    }

    /// A scene with one dead letter to the token 1.
    private func scene(
        _ outcome: Outcome = Self.wrong,
        _ change: @escaping (inout ClientIdentity) -> Void = { _ in }
    ) throws -> GatewayStoreScene {
        let scene = try GatewayStoreScene(change)
        scene.warm()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.answer([1], outcome)
        scene.hangUp(connection)
        scene.wait(.seconds(1))
        return scene
    }

    @Test func `a dead letter is in the store with its payload`() throws {
        let scene = try self.scene()
        let letter = try #require(self.letters(scene).first)
        #expect(letter.token == [1] && letter.client == "old" && letter.topic == "com.example.app")
        #expect(letter.reason == .badPriority && !letter.mayHaveArrived && letter.attempts == 1)
        #expect(String(decoding: letter.payload, as: UTF8.self) == #"{"aps":{"alert":"Hello"}}"#)
        #expect(letter.address == [192, 0, 2, 1])
        #expect(Letter(StoreRow(key: letter.change.key, value: letter.change.value ?? [])) == letter)
    }

    @Test func `a notification that may have arrived and does not go out again is a letter`() throws {
        let scene = try self.scene(.uncertain(.noAnswer)) { $0.repeatsUnknown = false }
        #expect(self.letters(scene).map(\.mayHaveArrived) == [true])
    }

    @Test func `the JSON of a letter and of what waits spells the identifier as the list of rejections does`() throws {
        let letter = LetterRow(try #require(self.letters(try self.scene()).first), withPayload: true)
        let waiting = WaitingRow(
            apnsID: letter.apnsID,
            client: "old",
            upstream: "sandbox",
            topic: "com.example.app",
            reason: .backOff,
            lastReason: "ServiceUnavailable",
            readAt: 1,
            age: 2,
            expiration: 3,
            mayHaveArrived: true,
            attempts: 4,
            token: "01"
        )
        let member = #""apnsId":"\#(letter.apnsID)""#
        for bytes in [try JSONEncoder().encode(letter), try JSONEncoder().encode(waiting)] {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.contains(member) && !text.contains("apnsID"), "\(text)")
        }
        #expect(try JSONDecoder().decode(LetterRow.self, from: try JSONEncoder().encode(letter)) == letter)
        #expect(try JSONDecoder().decode(WaitingRow.self, from: try JSONEncoder().encode(waiting)) == waiting)
    }

    @Test func `a letter names the upstream that a listener named, and goes there again`() throws {
        let scene = try self.scene { $0.listenerUpstream = "sandbox" }
        let letter = try #require(self.letters(scene).first)
        let row = LetterRow(letter, withPayload: false)
        #expect(row.client == "old" && row.upstream == "sandbox")
        #expect(LetterFilter(client: "old").admits(letter) && !LetterFilter(client: "sandbox").admits(letter))
        var own = letter
        own.client = "old"
        #expect(scene.machine.retry([own], now: scene.now) == [.unknownClient])
        #expect(scene.machine.retry([letter], now: scene.now) == [.done])
    }

    @Test func `a letter of a client that a reload removed stays`() throws {
        let scene = try self.scene()
        let letter = try #require(self.letters(scene).first)
        scene.machine.dispatch.identities[0].isConfigured = false
        #expect(scene.machine.retry([letter], now: scene.now) == [.unknownClient])
        #expect(self.letters(scene) == [letter])
    }

    @Test func `a letter that is sent again keeps its apns-id, and both sums hold`() throws {
        let scene = try self.scene()
        let letter = try #require(self.letters(scene).first)
        #expect(scene.machine.retry([letter], now: scene.now) == [.done])
        // A second operator is too late.
        #expect(scene.machine.retry([letter], now: scene.now) == [.missing])
        scene.collect()
        #expect(scene.sent.map(\.notification.apnsID) == [letter.apnsID])
        #expect(self.letters(scene).isEmpty)
        scene.answer([1])
        scene.wait(.seconds(1))
        let counts = scene.machine.counts
        #expect(counts.retried == 1 && counts.accepted == 2 && counts.deadLetters == 1)
        #expect(counts.isConserved && counts.unanswered == 0)
    }

    @Test func `a kill after the commit neither loses nor doubles a letter that is sent again`() throws {
        let scene = try self.scene()
        let letter = try #require(self.letters(scene).first)
        _ = scene.machine.retry([letter], now: scene.now)
        scene.collect()
        try scene.kill()
        #expect(scene.sent.map(\.notification.apnsID) == [letter.apnsID])
        #expect(self.letters(scene).isEmpty)
        scene.answer([1])
        scene.wait(.seconds(1))
        try scene.kill()
        #expect(scene.sent.isEmpty && self.letters(scene).isEmpty)
    }

    @Test func `a kill before the commit leaves the letter`() throws {
        let scene = try self.scene()
        let letter = try #require(self.letters(scene).first)
        scene.store.hold()
        _ = scene.machine.retry([letter], now: scene.now)
        scene.collect()
        #expect(scene.sent.isEmpty)
        try scene.kill()
        scene.store.release()
        #expect(self.letters(scene) == [letter])
        #expect(scene.machine.retry([letter], now: scene.now) == [.done])
    }

    @Test func `a push of the client that equals a letter is no copy of it after a kill`() throws {
        let scene = try self.scene()
        scene.wait(.minutes(3))
        let letter = try #require(self.letters(scene).first)
        _ = scene.machine.retry([letter], now: scene.now)
        scene.collect()
        try scene.kill()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        #expect(scene.sentTokens == [[1], [1]])
    }

    @Test func `a letter that ends again is one letter`() throws {
        let scene = try self.scene()
        let letter = try #require(self.letters(scene).first)
        _ = scene.machine.retry([letter], now: scene.now)
        scene.collect()
        scene.answer([1], Self.wrong)
        scene.wait(.seconds(1))
        #expect(self.letters(scene).map(\.apnsID) == [letter.apnsID])
        #expect(scene.machine.figures(now: scene.now).letters?.count == 1)
    }

    @Test func `a dropped letter is gone, also for the next process`() throws {
        let scene = try self.scene()
        let letter = try #require(self.letters(scene).first)
        #expect(scene.machine.drop([letter.apnsID], now: scene.now) == [.done])
        #expect(scene.machine.drop([letter.apnsID], now: scene.now) == [.missing])
        scene.wait(.seconds(1))
        try scene.kill()
        #expect(self.letters(scene).isEmpty)
    }

    @Test func `a letter goes after 30 days, and is counted`() throws {
        let scene = try self.scene()
        scene.wait(.hours(24 * 30 - 2))
        #expect(self.letters(scene).count == 1)
        scene.wait(.hours(4))
        #expect(self.letters(scene).isEmpty)
        #expect(scene.machine.figures(now: scene.now).letters == .init(outdated: 1))
    }

    @Test func `letters of a clock that ran ahead do not keep others in the store`() throws {
        let scene = try self.scene()
        let letter = try #require(self.letters(scene).first)
        var shelf = LetterShelf()
        var ahead = letter
        ahead.apnsID = APNSID(node: 1, number: 1)
        ahead.endedAt += 365 * 86_400
        _ = shelf.add(ahead)
        _ = shelf.add(letter)
        let (now, seconds) = (scene.now.monotonic, letter.endedAt + LetterShelf.lifetime + 1)
        let changes = shelf.timePassed(now: now, seconds: seconds)
        #expect(changes.map(\.key) == [Letter.key(of: letter.apnsID)])
        #expect(shelf.figures.count == 1 && shelf.figures.outdated == 1)
        // A clock that is not set yet makes none too old.
        let others = shelf.timePassed(now: now + LetterShelf.sweep, seconds: 0)
        #expect(others.isEmpty)
    }

    @Test func `above the bound the oldest letters go, and are counted`() throws {
        let scene = try self.scene()
        let letter = try #require(self.letters(scene).first)
        var shelf = LetterShelf(limit: 2)
        var removed: [[UInt8]] = []
        for number in UInt64(1)...3 {
            var next = letter
            next.apnsID = APNSID(node: 1, number: number)
            next.endedAt += UInt32(number)
            removed += shelf.add(next).filter { $0.value == nil }.map(\.key)
        }
        #expect(removed == [Letter.key(of: APNSID(node: 1, number: 1))])
        #expect(shelf.figures.count == 2 && shelf.figures.dropped == 1)
    }
}
