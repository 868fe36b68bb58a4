internal import FerryCore
internal import NIOCore

/// The drivers of one provider by the number of their event loop. It does not keep them alive. Any thread may use it.
final class ProviderLoops: Sendable {
    private struct Weak: Sendable {
        weak var loop: (any ProviderLoop)?
    }

    private let loops = Locked<[Weak]>([])

    /// Adds the driver of the next loop.
    func append(_ loop: any ProviderLoop) { self.loops.withLock { $0.append(Weak(loop: loop)) } }

    private var all: [(any ProviderLoop)?] { self.loops.withLock { $0.map(\.loop) } }

    /// Wakes the drivers of some loops.
    func wake(_ set: LoopSet) {
        guard !set.isEmpty else { return }
        let all = self.all
        set.forEach { all[$0]?.wake() }
    }

    func wakeAll() {
        for loop in self.all { loop?.wake() }
    }
}
