package import FerryPlatform

/// A value behind a POSIX mutex, which is the lock of this package. Any thread may use it.
///
/// The library for C has `Monitor` for threads that wait until a value changes. All other code waits in tasks.
///
/// `Mutex` of the module `Synchronization` does not work in a child of `fork`. It remembers the number of the thread
/// that forked. The kernel then takes the lock's holder for a thread of the parent, and ends the wait with an error,
/// which traps. The library for C has providers in such children.
package struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Unchecked because the value is only reached under the lock.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    @inlinable
    package init(_ value: consuming sending Value) {
        self.mutex = .allocate(capacity: 1)
        SystemCalls.makeLock(self.mutex)
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
    }

    @inlinable
    deinit {
        pthread_mutex_destroy(self.mutex)
        self.mutex.deallocate()
        self.value.deinitialize(count: 1)
        self.value.deallocate()
    }

    /// Calls `body` with the value while no other thread has it. `body` must not call it again.
    @inlinable
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(self.mutex)
        defer { pthread_mutex_unlock(self.mutex) }
        return try body(&self.value.pointee)
    }
}
