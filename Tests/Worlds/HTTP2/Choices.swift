import FerryMachine

/// The source of every choice in a world: first the bytes of a fuzzer, one for each choice, and then random numbers.
struct Choices: RandomNumberGenerator {
    var bytes: ArraySlice<UInt8> = []
    var rest: SplitMix64

    mutating func next() -> UInt64 {
        let chance = self.rest.next()
        return self.bytes.popFirst().map { UInt64($0) << 56 | chance >> 8 } ?? chance
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    /// Returns true one time in `count`; 0: never.
    mutating func isOne(in count: Int) -> Bool { count > 0 && self.number(1...count) == 1 }
}
