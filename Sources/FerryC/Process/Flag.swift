internal import Synchronization

/// Something that happens once. Any thread.
final class Flag: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool { self.value.load(ordering: .relaxed) }

    func raise() { self.value.store(true, ordering: .relaxed) }
}
