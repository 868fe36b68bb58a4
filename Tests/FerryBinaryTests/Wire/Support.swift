internal import FerryCore
internal import Foundation
internal import NIOCore
internal import Testing

/// Reads a file of vectors.
func vectors<Vector: Decodable>(lines file: String, as type: Vector.Type) throws -> [Vector] {
    let decoder = JSONDecoder()
    return try vectorFile(file).split(separator: UInt8(ascii: "\n")).map { try decoder.decode(type, from: $0) }
}

func vectorFile(_ name: String) throws -> Data {
    let url = try #require(Bundle.module.url(forResource: "Vectors/\(name)", withExtension: nil))
    return try Data(contentsOf: url)
}

func bytes(hex: String) throws -> [UInt8] {
    let digits = Array(hex.utf8)
    return try stride(from: 0, to: digits.count, by: 2).map { index in
        let high = try #require(DeviceToken.nibble(digits[index]))
        let low = try #require(DeviceToken.nibble(digits[index + 1]))
        return high << 4 | low
    }
}

/// Returns every way to cut `bytes` in two, and the cut into single bytes.
func splits(_ bytes: [UInt8]) -> [[ByteBuffer]] {
    let drip = bytes.map { ByteBuffer(integer: $0) }
    return [drip] + (0...bytes.count).map { [ByteBuffer(bytes: bytes[..<$0]), ByteBuffer(bytes: bytes[$0...])] }
}

/// A repeatable generator of random numbers (SplitMix64).
struct Randomness: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: self.next()) }
    }
}
