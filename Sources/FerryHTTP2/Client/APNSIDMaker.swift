internal import FerryCore
internal import FerryMachine

/// A source of `apns-id`s for notifications that have none: 128 random bits, so that two providers never use the same.
///
/// `SplitMix64` has only 64 bits of state, so two of them make one half each.
struct APNSIDSource {
    private var generator: Halves

    /// - Parameter seed: nil: a seed from the system.
    init(seed: UInt64?) {
        self.generator = Halves(
            high: SplitMix64(seed: seed ?? .random(in: .min ... .max)),
            low: SplitMix64(seed: seed.map { ~$0 } ?? .random(in: .min ... .max))
        )
    }

    mutating func next() -> APNSID {
        self.generator.isLow = false
        return APNSID.random(using: &self.generator)
    }

    /// A generator that takes random numbers from two generators in turn.
    private struct Halves: RandomNumberGenerator {
        var high: SplitMix64
        var low: SplitMix64
        var isLow = false

        mutating func next() -> UInt64 {
            defer { self.isLow.toggle() }
            return self.isLow ? self.low.next() : self.high.next()
        }
    }
}
