package import FerryCore
internal import NIOCore

/// The outcomes of an upstream, on their way from the upstream's event loop to the gateway's event loop.
///
/// The object is the sink of the provider to which the gateway forwards. It has at most one outcome for each
/// notification that the provider took. The provider's queue limit bounds the number of these notifications.
package final class UpstreamOutcomes: OutcomeSink {
    private struct State {
        var records: [OutcomeRecord] = []
        var wake: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    package init() {}

    /// Notes the outcomes, and wakes the gateway if the list was empty.
    package func settled(_ outcomes: Span<OutcomeRecord>) {
        let wake = self.state.withLock { state in
            let isFirst = state.records.isEmpty
            for index in outcomes.indices { state.records.append(outcomes[index]) }
            return isFirst ? state.wake : nil
        }
        wake?()
    }

    /// Removes and returns the outcomes so far.
    func take() -> [OutcomeRecord] {
        self.state.withLock { state in
            var records: [OutcomeRecord] = []
            records.reserveCapacity(state.records.count)
            swap(&records, &state.records)
            return records
        }
    }

    /// - Parameter wake: called on any thread when outcomes arrive in an empty list, and at once if the list has
    ///   outcomes already.
    func onNews(_ wake: @escaping @Sendable () -> Void) {
        let hasNews = self.state.withLock { state in
            state.wake = wake
            return !state.records.isEmpty
        }
        if hasNews { wake() }
    }
}
