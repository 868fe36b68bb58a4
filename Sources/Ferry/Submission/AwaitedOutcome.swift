internal import FerryCore
internal import Synchronization

/// One task that awaits the outcome of one notification in `send`.
///
/// The notification's tag is the address of this object, which the provider holds retained from submission to outcome:
/// so no table of tickets exists. Exactly one ``resume(_:with:)`` must follow each ``makeTag()``.
final class AwaitedOutcome: Sendable {
    private enum State {
        case pending
        case waiting(CheckedContinuation<Outcome, Never>)
        case done(Outcome)
    }

    private let state = Mutex(State.pending)

    var tag: UInt64 { UInt64(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())) }

    /// Retains the object for the provider.
    func makeTag() -> UInt64 {
        UInt64(UInt(bitPattern: Unmanaged.passRetained(self).toOpaque()))
    }

    /// Takes back what ``makeTag()`` retained, for a notification that was not taken.
    static func discard(_ tag: UInt64) {
        self.object(tag)?.release()
    }

    /// Delivers the outcome of the notification with this tag.
    static func resume(_ tag: UInt64, with outcome: Outcome) {
        self.object(tag)?.takeRetainedValue().resume(with: outcome)
    }

    private static func object(_ tag: UInt64) -> Unmanaged<AwaitedOutcome>? {
        UnsafeRawPointer(bitPattern: UInt(tag)).map { Unmanaged.fromOpaque($0) }
    }

    private func resume(with outcome: Outcome) {
        let continuation = self.state.withLock { state -> CheckedContinuation<Outcome, Never>? in
            defer { state = .done(outcome) }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        continuation?.resume(returning: outcome)
    }

    /// The outcome, once it is there.
    var value: Outcome {
        get async {
            await withCheckedContinuation { continuation in
                let outcome = self.state.withLock { state -> Outcome? in
                    if case .done(let outcome) = state { return outcome }
                    state = .waiting(continuation)
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        }
    }
}
