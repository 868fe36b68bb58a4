internal import FerryCore

/// The desk that lets a store make one copy at a time. Any thread may use it.
///
/// The caller of a second copy gets its refusal at once. At the end of the process, a caller in the stage `making` gets
/// its answer at once, even if the store or the disk hangs.
///
/// ```
///   free ──make──▶ making ──beginNaming──▶ naming
///     ▲              │                       │
///     └──────────────┴────── work ends ──────┘
///
///   giveUp, while making: the caller gets its answer, and the work ends at its next call of requireWanted.
///   giveUp, while naming: the copy has its names in a moment, so the caller waits for them.
/// ```
final class CopyDesk: Sendable {
    private typealias Answer = Result<StoreCopy, StoreError>

    private enum Stage {
        case free
        case making
        case naming
    }

    private struct State {
        var stage = Stage.free
        /// Whether the process ends, so that no copy is begun.
        var isGivenUp = false
        /// The caller of the present copy; nil if the caller has its answer, or if no copy is being made.
        var caller: CheckedContinuation<Answer, Never>?
    }

    private static let isTaken = StoreError("Another copy of the store is being made. Wait for its end.")
    private static let isOver = StoreError("The gateway ends, so no copy was made. Try again after its end.")

    private let state = Locked(State())

    /// Whether the work for a copy goes on, even if its caller has its answer.
    var isMaking: Bool { self.state.withLock { $0.stage != .free } }

    /// Makes a copy with `work`. Throws at once if another copy is being made, or if the process ends.
    ///
    /// - Parameter work: makes the copy, and throws ``StoreError``. It may go on after the caller has its answer, so it
    ///   calls ``requireWanted()`` now and then.
    func make(
        _ work: @escaping @Sendable () async throws(StoreError) -> StoreCopy
    ) async throws(StoreError) -> StoreCopy {
        let answer: Answer = await withCheckedContinuation { continuation in
            if let refusal = self.take(continuation) { return continuation.resume(returning: .failure(refusal)) }
            // The task is detached, because at the end of the process the caller does not wait for the work.
            Task.detached { self.end(await Self.answer(of: work)) }
        }
        return try answer.get()
    }

    /// Returns the reason why the copy is refused; nil if the copy may begin.
    private func take(_ caller: CheckedContinuation<Answer, Never>) -> StoreError? {
        self.state.withLock { state -> StoreError? in
            guard !state.isGivenUp else { return Self.isOver }
            guard state.stage == .free else { return Self.isTaken }
            state.stage = .making
            state.caller = caller
            return nil
        }
    }

    private static func answer(of work: @Sendable () async throws(StoreError) -> StoreCopy) async -> Answer {
        do throws(StoreError) {
            return .success(try await work())
        } catch {
            return .failure(error)
        }
    }

    private func end(_ answer: Answer) {
        let caller = self.state.withLock { state -> CheckedContinuation<Answer, Never>? in
            state.stage = .free
            return state.caller.take()
        }
        caller?.resume(returning: answer)
    }

    /// Gives the copy up, and lets no further copy begin. A copy that is getting its names at that moment is still
    /// finished.
    func giveUp() {
        let caller = self.state.withLock { state -> CheckedContinuation<Answer, Never>? in
            state.isGivenUp = true
            return state.stage == .naming ? nil : state.caller.take()
        }
        caller?.resume(returning: .failure(Self.isOver))
    }

    // MARK: The work

    /// - Throws: ``StoreError`` if the copy was given up.
    func requireWanted() throws(StoreError) {
        guard !self.state.withLock({ $0.isGivenUp }) else { throw Self.isOver }
    }

    /// Notes that the copy gets its names next. After this call, the copy cannot be given up.
    ///
    /// - Throws: ``StoreError`` if the copy was given up.
    func beginNaming() throws(StoreError) {
        let isGivenUp = self.state.withLock { state in
            if !state.isGivenUp { state.stage = .naming }
            return state.isGivenUp
        }
        guard !isGivenUp else { throw Self.isOver }
    }
}
