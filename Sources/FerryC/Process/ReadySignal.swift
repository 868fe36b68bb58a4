internal import CFerry
internal import FerryPlatform

/// A descriptor that is readable while something is ready. The owner of a signal holds a lock, because only one thread
/// at a time may use the signal.
struct ReadySignal: ~Copyable {
    let descriptor: Int32
    private(set) var isRaised = false

    /// Returns nil if the process has no descriptor left.
    init?() {
        self.descriptor = cferry_eventfd()
        guard self.descriptor >= 0 else { return nil }
    }

    deinit { close(self.descriptor) }

    mutating func set(_ isReady: Bool) {
        guard isReady != self.isRaised else { return }
        self.isRaised = isReady
        if isReady { cferry_eventfd_raise(self.descriptor) } else { cferry_eventfd_clear(self.descriptor) }
    }
}
