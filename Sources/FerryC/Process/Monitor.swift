internal import FerryPlatform

/// A value behind a lock, with a wait for changes of the value.
///
/// The lock is a POSIX mutex, because a child of `fork` may release a mutex that its parent locked. The lock of
/// `Synchronization` notes the thread that holds it, and the child has a different thread.
final class Monitor<Value>: @unchecked Sendable {
    // Unchecked, because the value is used only under the lock.
    @exclusivity(unchecked) private var value: Value
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init(_ value: Value) {
        self.value = value
        pthread_mutex_init(self.mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // The monotonic clock keeps deadlines in place when somebody sets the clock.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(self.condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(self.condition)
        pthread_mutex_destroy(self.mutex)
        self.condition.deallocate()
        self.mutex.deallocate()
    }

    func lock() { pthread_mutex_lock(self.mutex) }

    /// The value, for the thread that holds the lock.
    var valueUnderLock: Value {
        get { self.value }
        set { self.value = newValue }
    }

    func unlock() { pthread_mutex_unlock(self.mutex) }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        self.lock()
        defer { self.unlock() }
        return try body(&self.value)
    }

    /// Wakes all threads in ``wait(milliseconds:until:)``.
    func signal() { pthread_cond_broadcast(self.condition) }

    /// Waits until `condition` holds, for at most `milliseconds`. A negative number means no limit. Returns whether
    /// `condition` holds.
    func wait(milliseconds: Int64, until condition: (Value) -> Bool) -> Bool {
        self.lock()
        defer { self.unlock() }
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        let nanoseconds = Int64(end.tv_nsec) + milliseconds % 1000 * 1_000_000
        end.tv_sec += Int(milliseconds / 1000 + nanoseconds / 1_000_000_000)
        end.tv_nsec = Int(nanoseconds % 1_000_000_000)
        while !condition(self.value) {
            if milliseconds < 0 {
                pthread_cond_wait(self.condition, self.mutex)
            } else if pthread_cond_timedwait(self.condition, self.mutex, &end) == ETIMEDOUT {
                return condition(self.value)
            }
        }
        return true
    }
}
