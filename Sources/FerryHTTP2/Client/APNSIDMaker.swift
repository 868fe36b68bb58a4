internal import FerryCore
internal import FerryMachine

/// Makes the `apns-id` of each notification that has none, from its place in the order of submission.
///
/// So a notification keeps its `apns-id` when it is given back and written again, although nothing stores it. Each
/// provider has 128 random bits, so two of them never make the same.
struct APNSIDMaker {
    private let high: UInt64
    private let low: UInt64

    /// - Parameter seed: the seed; nil for one from the system.
    init(seed: UInt64?) {
        self.high = seed ?? .random(in: .min ... .max)
        self.low = seed.map { ~$0 } ?? .random(in: .min ... .max)
    }

    /// Returns the `apns-id` of a run's first notification: the caller's, or else ours.
    func apnsID(of run: BatchRun) -> APNSID {
        let entry = run.entries[0]
        guard !entry.fields.hasAPNSID else {
            let end = Int(entry.offset) + run.storage.byteCount(at: run.start)
            return APNSID(reading: run.storage.arena + end - 16)
        }
        // Each generator's first number is a bijection of its seed, so two notifications share no pair of seeds.
        var high = SplitMix64(seed: self.high &+ run.order)
        var low = SplitMix64(seed: self.low &+ (run.order &<< 16 | UInt64(entry.number)))
        return APNSID(randomHigh: high.next(), low: low.next())
    }
}
