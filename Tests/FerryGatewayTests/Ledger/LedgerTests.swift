import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

@Suite struct LedgerTests {
    static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    static func frame(_ number: UInt64, _ fate: JobFate = .running) -> Ledger.Frame {
        Ledger.Frame(
            identifier: UInt32(number),
            follower: Follower(
                key: ReplayKey(high: 0, low: number),
                job: JobID(rawValue: number),
                fate: fate,
                isConstant: false
            ),
            length: 100
        )
    }

    static func ledger(_ count: UInt64) -> Box {
        var ledger = Ledger()
        for number in 0..<count { ledger.append(Self.frame(number), now: Self.start) }
        return Box(ledger)
    }

    /// A ledger whose calls can stand in an expectation.
    final class Box {
        var ledger: Ledger

        init(_ ledger: Ledger) { self.ledger = ledger }

        func settle(_ sequence: UInt64, _ fate: JobFate, at time: TimeAmount = .zero) -> Bool {
            self.ledger.settle(sequence, fate, now: LedgerTests.start + time)
        }

        func releaseDue(at time: TimeAmount) -> [UInt64] {
            self.ledger.releaseDue(now: LedgerTests.start + time).map(\.rawValue)
        }
    }

    @Test func `a rejection is known when everything before it is resolved`() {
        let box = Self.ledger(4)
        #expect(box.settle(2, .rejected(.invalidToken)))
        #expect(box.settle(0, .accepted))
        #expect(box.ledger.rejection == nil)
        #expect(box.ledger.lastAccepted?.sequence == 0)
        #expect(box.settle(1, .accepted))
        #expect(box.ledger.rejection?.sequence == 2)
        #expect(box.ledger.rejection?.identifier == 2)
        #expect(box.ledger.followerCount(of: 2) == 1)
        #expect(box.ledger.followers(of: 2).map(\.job.rawValue) == [3])
    }

    @Test func `after one rejection is passed the next one follows`() {
        let box = Self.ledger(4)
        for sequence: UInt64 in [0, 2] { _ = box.settle(sequence, .rejected(.invalidToken)) }
        _ = box.settle(1, .accepted)
        #expect(box.ledger.rejection?.sequence == 0)
        #expect(box.ledger.followers(of: 0).map(\.fate) == [.accepted, .rejected(.invalidToken), .running])
        box.ledger.pass()
        #expect(box.ledger.rejection?.sequence == 2)
        box.ledger.pass()
        #expect(box.ledger.rejection == nil)
        #expect(box.ledger.followers(of: 0).map(\.job.rawValue) == [3])
    }

    @Test func `unresolved notifications are all released after 2 s, and count as accepted`() {
        let box = Self.ledger(3)
        _ = box.settle(1, .rejected(.invalidToken))
        box.ledger.append(Self.frame(3), now: Self.start + .seconds(1))
        #expect(box.ledger.nextRelease == Self.start + .seconds(2))
        #expect(box.releaseDue(at: .milliseconds(1999)).isEmpty)
        #expect(box.releaseDue(at: .seconds(2)) == [0, 2])
        #expect(box.ledger.rejection?.sequence == 1)
        #expect(box.ledger.followers(of: 1).map(\.fate) == [.running, .running])
        #expect(!box.settle(2, .rejected(.invalidToken), at: .seconds(3)))
        #expect(box.ledger.nextRelease == Self.start + .seconds(3))
    }

    @Test func `a ledger that ends gives its untold rejections back, and no released one`() {
        let box = Self.ledger(4)
        _ = box.ledger.release(1, now: Self.start)
        _ = box.settle(2, .rejected(.invalidToken))
        _ = box.settle(3, .rejected(.invalidPayloadSize))
        let rejections = box.ledger.removeAll()
        #expect(rejections.map(\.sequence) == [2, 3])
        #expect(!box.settle(0, .accepted))
        #expect(box.ledger.isResolved)
    }

    @Test func `the window stops the reading`() {
        let box = Self.ledger(UInt64(GatewayBounds.window) - 1)
        #expect(box.ledger.hasRoom)
        box.ledger.append(Self.frame(5001), now: Self.start)
        #expect(!box.ledger.hasRoom)
        #expect(box.settle(0, .accepted))
        #expect(box.ledger.hasRoom)
        var large = Self.frame(5002)
        large.length = GatewayBounds.windowBytes
        box.ledger.append(large, now: Self.start)
        #expect(!box.ledger.hasRoom)
    }

    @Test func `devices that are slow do not stop the reading of the others`() {
        let box = Self.ledger(0)
        var time = TimeAmount.zero
        for round: UInt64 in 0..<100 {
            for number: UInt64 in 0..<100 {
                box.ledger.append(Self.frame(100 * round + number), now: Self.start + time)
            }
            time = time + .milliseconds(100)
            for number: UInt64 in 1..<100 { _ = box.settle(100 * round + number, .accepted, at: time) }
            _ = box.releaseDue(at: time)
            #expect(box.ledger.hasRoom)
        }
    }

    @Test func `the window doubles with each quick window, and halves once a second while answers are slow`() {
        var window = ReadingWindow()
        for _ in 0..<GatewayBounds.window { window.resolved(after: .milliseconds(50), now: Self.start) }
        #expect(window.size == 2 * GatewayBounds.window)
        window.resolved(after: .milliseconds(700), now: Self.start)
        #expect(window.size == 2 * GatewayBounds.window)
        for _ in 0..<100 { window.resolved(after: .seconds(2), now: Self.start) }
        #expect(window.size == GatewayBounds.window)
        for second: Int64 in 1...20 { window.resolved(after: .seconds(2), now: Self.start + .seconds(second)) }
        #expect(window.size == GatewayBounds.windowFloor)
    }

    /// A window is enough for 10,000 notifications a second if its size divided by the upstream's time is.
    @Test func `one connection with an upstream of 50 ms carries 10,000 a second`() {
        #expect(GatewayBounds.window * 1000 / 50 >= 10_000)
    }

    // MARK: Identifiers

    @Test func `an identifier that came twice is not unique`() {
        var identifiers = IdentifierSet()
        for identifier: UInt32 in [5, 6, 7, 3, 4, .max, 0, 9] { identifiers.insert(identifier) }
        #expect(identifiers.hasSeveral)
        #expect(identifiers.isUnique(6) && identifiers.isUnique(.max) && identifiers.isUnique(0))
        identifiers.insert(6)
        identifiers.insert(.max)
        #expect(!identifiers.isUnique(6) && !identifiers.isUnique(.max) && identifiers.isUnique(7))
    }

    @Test func `one identifier for all notifications does not count as numbering`() {
        var identifiers = IdentifierSet()
        identifiers.insert(0)
        #expect(!identifiers.hasSeveral && identifiers.isUnique(0))
        identifiers.insert(0)
        #expect(!identifiers.hasSeveral && !identifiers.isUnique(0))
    }

    @Test func `random identifiers never wrongly count as unique, in bounded memory`() {
        for seed: UInt64 in 1...20 {
            var randomness = SplitMix64(seed: seed)
            var identifiers = IdentifierSet()
            var counts: [UInt32: Int] = [:]
            for _ in 0..<2000 {
                let identifier = UInt32(randomness.next() % (seed % 2 == 0 ? 10_000 : 300))
                identifiers.insert(identifier)
                counts[identifier, default: 0] += 1
            }
            let wrong = counts.filter { $0.value > 1 && identifiers.isUnique($0.key) }
            #expect(wrong.isEmpty)
        }
    }

    @Test func `random identifiers are no repeats, and a certain repeat is one`() {
        for count in [10, 400, 5000] {
            var generator = SplitMix64(seed: 1)
            var identifiers = IdentifierSet()
            var seen: Set<UInt32> = []
            while seen.count < count {
                let identifier = UInt32(truncatingIfNeeded: generator.next())
                guard seen.insert(identifier).inserted else { continue }
                identifiers.insert(identifier)
            }
            #expect(!identifiers.hasRepeated, "\(count)")
        }
        for identifier: UInt32 in [0, 7] {
            var identifiers = IdentifierSet()
            for number: UInt32 in 0..<5000 { identifiers.insert(number.byteSwapped) }
            #expect(!identifiers.hasRepeated)
            identifiers.insert(identifier.byteSwapped)
            #expect(identifiers.hasRepeated)
        }
    }

    @Test func `a client that counts in its processor's byte order gives each notification an identifier of its own`() {
        var identifiers = IdentifierSet()
        for number: UInt32 in 0..<5000 { identifiers.insert(number.byteSwapped) }
        #expect((0..<5000).allSatisfy { identifiers.isUnique(UInt32($0).byteSwapped) })
        identifiers.insert(UInt32(77).byteSwapped)
        #expect(!identifiers.isUnique(UInt32(77).byteSwapped))
    }

    @Test func `an identifier that came twice never counts as unique, in whatever order identifiers come`() {
        var generator = SplitMix64(seed: 1)
        for _ in 0..<200 {
            var identifiers = IdentifierSet()
            var counts: [UInt32: Int] = [:]
            let mask = UInt32.random(in: 0..<12, using: &generator)
            for number: UInt32 in 0..<500 {
                let isRandom = UInt32.random(in: 0..<12, using: &generator) < mask
                let counted = Bool.random(using: &generator) ? number : number.byteSwapped
                let identifier = isRandom ? UInt32.random(in: 0..<2000, using: &generator) : counted
                identifiers.insert(identifier)
                counts[identifier, default: 0] += 1
            }
            #expect(counts.allSatisfy { $0.value == 1 || !identifiers.isUnique($0.key) })
        }
    }
}
