internal import FerryCore

/// The position in the input behind the last lines that were submitted. Safe from any thread.
final class FeedPosition: Sendable {
    private struct State {
        var bytes = 0
        var submitted = 0
    }

    /// The length of the input in bytes. Nil if the input is no regular file.
    private let length: Int?
    private let state = Locked(State())

    init(length: Int?) { self.length = length }

    func move(to bytes: Int, submitted: Int) {
        self.state.withLock { $0 = State(bytes: bytes, submitted: submitted) }
    }

    /// The part of the input that has outcomes, 0 to 1. Nil if the length of the input is unknown or 0.
    ///
    /// It is an estimate: the submitted part of the bytes, times the settled part of the submitted notifications.
    func fraction(settled: Int) -> Double? {
        guard let length, length > 0 else { return nil }
        let state = self.state.withLock { $0 }
        guard state.submitted > 0 else { return 0 }
        return Double(state.bytes) / Double(length) * min(Double(settled) / Double(state.submitted), 1)
    }
}
