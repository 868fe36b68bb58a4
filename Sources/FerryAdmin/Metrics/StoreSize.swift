internal import FerryPlatform
internal import NIOPosix

/// The size of a store on disk, which is looked up at most once in ten seconds. Any thread may use it.
///
/// A disk may hang, so the size is looked up on a thread that serves nothing else.
package struct StoreSize: Sendable {
    private static let lifetime: Duration = .seconds(10)
    /// The longest time that a reader waits for the disk.
    private static let patience: Duration = .milliseconds(500)
    /// The pool is never shut down, because a disk that hangs would keep the process from its end.
    private static let thread: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }()

    private let value: SharedValue<Int?>

    /// - Parameter path: the path of the store.
    package init(of path: String) {
        self.value = SharedValue(lifetime: Self.lifetime) {
            try? await Self.thread.runIfActive { Self.lookUp(path) }
        }
    }

    /// The size of the store and of the files that SQLite keeps beside it, in bytes; nil if the disk does not answer
    /// within half a second.
    package var bytes: Int? {
        get async { await self.value.value(within: Self.patience) ?? nil }
    }

    private static func lookUp(_ path: String) -> Int {
        ["", "-wal", "-shm"].reduce(0) { sum, suffix in
            var status = stat()
            return stat(path + suffix, &status) == 0 ? sum + Int(status.st_size) : sum
        }
    }
}
