internal import FerryCore

/// The place in the input behind the last notification that was submitted. Any thread.
final class FeedPosition: Sendable {
    private struct State {
        var bytes = 0
        var submitted = 0
    }

    /// The length of the input in bytes. Nil if it is no file.
    private let length: Int?
    private let state = Locked(State())

    init(length: Int?) { self.length = length }

    func move(to bytes: Int, submitted: Int) {
        self.state.withLock { $0 = State(bytes: bytes, submitted: submitted) }
    }

    /// The part of the input that has outcomes, 0 to 1. Nil if its length is unknown, or nothing was submitted.
    ///
    /// The lines that were submitted are as long as their bytes say; of them, as many have outcomes as were settled.
    func fraction(settled: Int) -> Double? {
        guard let length, length > 0 else { return nil }
        let state = self.state.withLock { $0 }
        guard state.submitted > 0 else { return 0 }
        return Double(state.bytes) / Double(length) * min(Double(settled) / Double(state.submitted), 1)
    }
}
