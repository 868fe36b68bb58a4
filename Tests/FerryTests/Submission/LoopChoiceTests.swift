import FerryCore
import Testing

@testable import Ferry

struct LoopChoiceTests {
    private static func hashes(_ count: Int) throws -> [UInt32] {
        (0..<count).map { number in
            let token = withUnsafeBytes(of: UInt64(number).littleEndian) { Array($0) } + Array(repeating: 7, count: 24)
            return token.withUnsafeBufferPointer { DeviceToken.stableHash($0) }
        }
    }

    @Test(arguments: [2, 3, 4, 7, 64])
    func `the loops have equal parts of the devices`(count: Int) throws {
        let hashes = try Self.hashes(200_000)
        var parts = Array(repeating: 0, count: count)
        for hash in hashes { parts[LoopChoice.loop(ofHash: hash, among: count)] += 1 }
        let even = hashes.count / count
        #expect(parts.allSatisfy { abs($0 - even) < even / 10 })
    }

    @Test func `each connection of each loop and each side of a migration has an equal part`() throws {
        let hashes = try Self.hashes(200_000)
        var parts: [String: Int] = [:]
        for hash in hashes {
            let loop = LoopChoice.loop(ofHash: hash, among: 2)
            let side = MigrationRule.position(ofHash: hash) < 2048 ? "HTTP/2" : "binary"
            parts["\(loop) \(hash % 4) \(side)", default: 0] += 1
        }
        #expect(parts.count == 16)
        #expect(parts.values.allSatisfy { abs($0 - 12_500) < 1250 })
    }
}
