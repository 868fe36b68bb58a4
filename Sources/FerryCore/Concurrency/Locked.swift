package import FerryPlatform

/// A value behind POSIX' own lock: the lock of this package. Any thread.
///
/// Where a thread must wait until the value changes, the library for C has `Monitor`; everything else waits in tasks.
///
/// `Mutex` of the module `Synchronization` does the same, but not in a child of `fork`: it remembers the number of the thread
/// that forked, and the kernel then takes the lock's holder for a thread of the parent and ends the wait with an error, which
/// traps. Providers live in such children, through the library for C.
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

    /// Calls `body` with the value while no other thread has it. Not again from within.
    @inlinable
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(self.mutex)
        defer { pthread_mutex_unlock(self.mutex) }
        return try body(&self.value.pointee)
    }
}
