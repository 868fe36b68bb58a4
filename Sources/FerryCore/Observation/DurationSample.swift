/// Durations chosen evenly from any number of them: all of up to 64, and otherwise 32 to 64.
///
/// A backend of metrics takes one duration a call. Without the choice, a busy provider would call it for each
/// notification.
public struct DurationSample: Hashable, Sendable {
    /// The chosen durations in nanoseconds.
    private var sample: EvenSample

    /// Creates a sample without durations.
    public init() { self.sample = EvenSample() }

    /// - Parameter nanoseconds: the durations in nanoseconds.
    package init(nanoseconds: EvenSample) { self.sample = nanoseconds }

    /// The chosen durations, in the order in which they were measured.
    public var durations: [Duration] { self.sample.values.map { .nanoseconds($0) } }

    /// The number of all durations, with those that were not chosen.
    public var count: Int { self.sample.count }

    /// The chosen durations in nanoseconds.
    package var nanoseconds: [Int64] { self.sample.values }

    package mutating func add(nanoseconds: Int64) { self.sample.add(nanoseconds) }

    /// Adds the durations of `other`.
    package mutating func add(_ other: DurationSample) { self.sample.add(other.sample) }
}
