/// A wait for one event that another thread causes.
final class Latch: Sendable {
    private final class Box {
        var signal: ReadySignal
        var isOpen = false

        init(_ signal: consuming ReadySignal) { self.signal = signal }
    }

    private let box: Monitor<Box>
    private let descriptor: Int32

    /// Returns nil if the process has no descriptor left.
    init?() {
        guard let signal = ReadySignal() else { return nil }
        self.descriptor = signal.descriptor
        self.box = Monitor(Box(signal))
    }

    func open() {
        self.box.withLock { box in
            box.isOpen = true
            box.signal.set(true)
        }
    }

    func wait() { _ = self.wait(milliseconds: -1, endsAtSignal: false) }

    /// Returns 1 when the latch is open, 0 when the time is over, and `FERRY_EINTR` after a signal.
    func wait(milliseconds: Int64, endsAtSignal: Bool) -> Int32 {
        Waiting.wait(on: self.descriptor, milliseconds: milliseconds, endsAtSignal: endsAtSignal) {
            self.box.withLock { $0.isOpen ? 1 : 0 }
        }
    }

    var isOpen: Bool { self.box.withLock { $0.isOpen } }
}
