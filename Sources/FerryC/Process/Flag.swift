internal import Synchronization

/// A flag that is raised at most once. Any thread may use it.
final class Flag: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool { self.value.load(ordering: .relaxed) }

    func raise() { self.value.store(true, ordering: .relaxed) }
}
