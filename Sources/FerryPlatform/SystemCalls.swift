/// Calls whose types or names differ between the C libraries.
package enum SystemCalls {
    #if canImport(Glibc)
    /// The limit of open files, for `getrlimit`.
    package static let openFiles = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
    #else
    /// The limit of open files, for `getrlimit`.
    package static let openFiles = RLIMIT_NOFILE
    #endif

    #if canImport(Darwin)
    /// The type of a TCP socket, for `addrinfo`.
    package static let streamSocket = SOCK_STREAM
    #else
    /// The type of a TCP socket, for `addrinfo`.
    package static let streamSocket = Int32(SOCK_STREAM.rawValue)
    #endif

    #if canImport(Darwin)
    /// The type of a datagram socket, for `socket`.
    package static let datagramSocket = SOCK_DGRAM
    #else
    /// The type of a datagram socket, for `socket`.
    package static let datagramSocket = Int32(SOCK_DGRAM.rawValue)
    #endif

    /// Initializes a lock that is held for less time than a thread needs to fall asleep.
    ///
    /// With Glibc, a waiting thread looks again a few times before it sleeps.
    package static func makeLock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
        #if canImport(Glibc)
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
        pthread_mutex_init(mutex, &attributes)
        pthread_mutexattr_destroy(&attributes)
        #else
        pthread_mutex_init(mutex, nil)
        #endif
    }

    /// When a file was last changed.
    package static func changed(_ status: stat) -> timespec {
        #if canImport(Darwin)
        status.st_mtimespec
        #else
        status.st_mtim
        #endif
    }

    /// Prepares a signal that a source of Dispatch observes.
    ///
    /// On Darwin, Dispatch leaves the default action in place, and the signal would end the process. On Linux, Dispatch
    /// replaces the action.
    package static func observed(_ signal: Int32) {
        #if canImport(Darwin)
        Darwin.signal(signal, SIG_IGN)
        #endif
    }

    /// Whether the process ignores a signal, for example because `nohup` started it.
    package static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
        let handler = action.__sigaction_u.__sa_handler
        #else
        let handler = action.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: UInt.self) == unsafeBitCast(SIG_IGN, to: UInt.self)
    }

    /// The time since the computer was started, in nanoseconds, with the time in which it slept.
    package static var nanosecondsSinceBoot: UInt64 {
        #if canImport(Darwin)
        return clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW)
        #else
        var time = timespec()
        // The call fails only for a clock that the system does not have.
        clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        #endif
    }
}
