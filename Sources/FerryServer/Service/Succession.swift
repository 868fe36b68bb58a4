/// The take-over from a predecessor: a process that has the store or the address, and is about to end.
package struct Succession: Sendable {
    /// A thing that only one process has at a time.
    package enum Thing: Hashable, Sendable {
        case store
        case address(host: String, port: Int)
    }

    private let onWait: @Sendable (Thing) -> Void

    /// - Parameter onWait: called once for each thing that another process has, when the wait for it begins.
    package init(onWait: @escaping @Sendable (Thing) -> Void) { self.onWait = onWait }

    /// Takes a thing as soon as no other process has it.
    ///
    /// - Parameters:
    ///   - body: tries to take the thing.
    ///   - isTaken: whether an error of `body` means that another process has the thing.
    /// - Throws: the error of `body`: at once if `isTaken` returns false or the task is cancelled, otherwise after
    ///   ``SuccessionWait/limit``.
    package func take<Result, Failure: Error>(
        _ thing: Thing,
        isTaken: (Failure) -> Bool,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        var wait = SuccessionWait()
        while true {
            do throws(Failure) {
                return try await body()
            } catch {
                guard isTaken(error), !Task.isCancelled else { throw error }
                switch wait.refused(at: .now) {
                case .announce: self.onWait(thing)
                case .retry: break
                case .giveUp: throw error
                }
            }
            try? await Task.sleep(for: SuccessionWait.pause)
        }
    }
}
