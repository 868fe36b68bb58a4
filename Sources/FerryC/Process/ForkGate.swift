internal import Ferry
internal import FerryPlatform
internal import NIOCore
internal import NIOPosix

/// The gate that keeps the library at rest while the process forks.
///
/// A child gets the parent's locks as they are, but not the threads that would release them. This includes the locks
/// of the Swift runtime, which no code can release. So a fork waits until no thread is inside ``pass(_:)``, each event
/// loop is between two turns, and no name is being looked up.
///
/// ```
///   prepare: callers out ▶ state locked ▶ loops and look-ups at rest ──▶ fork ──▶ parent: all go on
///                                                                           └──▶ child: free locks, no threads
/// ```
///
/// A fork waits at most ``limit`` milliseconds for each of these three, because a look-up may take many seconds.
/// After that time the process forks. If a thread then holds a lock of the system, a child that opens a provider may
/// wait for ever.
enum ForkGate {
    /// The longest time that a fork waits for each kind of thread, in milliseconds.
    static let limit = 100

    private nonisolated(unsafe) static let lock: UnsafeMutablePointer<pthread_rwlock_t> = {
        let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
        Self.initialize(lock)
        pthread_atfork({ ForkGate.prepare() }, { ForkGate.goOn(isChild: false) }, { ForkGate.goOn(isChild: true) })
        return lock
    }()
    /// The lock that is held during the look-up of a name. The system's resolver has its own locks, and a fork must
    /// wait until they are free.
    private nonisolated(unsafe) static let lookups: UnsafeMutablePointer<pthread_mutex_t> = {
        let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        return lock
    }()
    // Only the thread that forks uses these variables, and it holds the lock of the state.
    private nonisolated(unsafe) static var rest: ThreadRest?
    private nonisolated(unsafe) static var isLocked = false
    private nonisolated(unsafe) static var hasLookups = false
    private nonisolated(unsafe) static var sockets: Set<UInt64> = []

    private static func initialize(_ lock: UnsafeMutablePointer<pthread_rwlock_t>) {
        var attributes = pthread_rwlockattr_t()
        pthread_rwlockattr_init(&attributes)
        // Writers go first. Otherwise the calls of other threads could keep the lock from a fork until ``limit`` is
        // over.
        pthread_rwlockattr_setkind_np(&attributes, Int32(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP))
        pthread_rwlock_init(lock, &attributes)
        pthread_rwlockattr_destroy(&attributes)
    }

    /// Runs a part of a call that does not wait. A fork waits until `body` ends, but not longer than ``limit``.
    static func pass<Result>(_ body: () -> Result) -> Result {
        pthread_rwlock_rdlock(self.lock)
        defer { pthread_rwlock_unlock(self.lock) }
        return body()
    }

    /// Looks up a name. A fork waits until this look-up ends, but not longer than ``limit``. A fork does not wait for
    /// look-ups that have not begun.
    static func lookUp<Result>(_ body: () throws -> Result) rethrows -> Result {
        pthread_mutex_lock(self.lookups)
        defer { pthread_mutex_unlock(self.lookups) }
        return try body()
    }

    /// The time at which a fork stops waiting for one kind of thread, if the wait begins now.
    private static var end: timespec {
        var end = timespec()
        clock_gettime(CLOCK_REALTIME, &end)
        end.tv_nsec += self.limit * 1_000_000
        if end.tv_nsec >= 1_000_000_000 {
            end.tv_sec += 1
            end.tv_nsec -= 1_000_000_000
        }
        return end
    }

    private static func prepare() {
        var end = self.end
        let isLocked = pthread_rwlock_timedwrlock(self.lock, &end) == 0
        // Two threads may fork at the same time. The lock of the state lets one of them prepare at a time.
        LibraryState.shared.lock()
        self.isLocked = isLocked
        self.rest = LibraryState.shared.valueUnderLock.runningThreads.map { ThreadRest($0) }
        self.rest?.begin(milliseconds: self.limit)
        end = self.end
        self.hasLookups = pthread_mutex_timedlock(self.lookups, &end) == 0
        self.sockets = LibraryState.shared.valueUnderLock.runningThreads?.sockets.current ?? []
    }

    private static func goOn(isChild: Bool) {
        if self.hasLookups {
            pthread_mutex_unlock(self.lookups)
        } else if isChild {
            pthread_mutex_init(self.lookups, nil)
        }
        // The threads do not exist in the child, so only the parent wakes them.
        if !isChild { self.rest?.end() }
        self.rest = nil
        let wasLocked = self.isLocked
        self.isLocked = false
        if isChild {
            LibraryState.shared.valueUnderLock.forked()
            FeedbackWriter.forked()
            InheritedSockets.closeCopies(of: self.sockets)
        }
        self.sockets = []
        LibraryState.shared.unlock()
        if isChild { self.initialize(self.lock) } else if wasLocked { pthread_rwlock_unlock(self.lock) }
    }
}

/// A pause of the library's event loops. Each loop stops between two turns.
final class ThreadRest: Sendable {
    private struct State {
        var resting = 0
        var isOver = false
    }

    private let threads: ProcessThreads
    private let state = Monitor(State())

    init(_ threads: ProcessThreads) { self.threads = threads }

    /// Asks all loops to pause, and waits until they have, for at most `milliseconds`.
    func begin(milliseconds: Int) {
        var count = 0
        for loop in self.threads.loops.makeIterator() {
            count += 1
            loop.execute { self.takeRest() }
        }
        _ = self.state.wait(milliseconds: Int64(milliseconds)) { $0.resting == count }
    }

    private func takeRest() {
        self.state.withLock { $0.resting += 1 }
        self.state.signal()
        _ = self.state.wait(milliseconds: -1) { $0.isOver }
    }

    func end() {
        self.state.withLock { $0.isOver = true }
        self.state.signal()
    }
}
