import Foundation
import Testing

@Suite struct LockTests {
    /// The names of other locks, and the files that may have them.
    private static let locks: [(name: String, files: Set<String>)] = [
        ("Mutex<", []), ("Mutex(", []), ("NIOLock", []), ("NSLock", []), ("DispatchSemaphore", []),
        (
            "pthread_mutex_lock",
            [
                "Sources/FerryC/Process/ForkGate.swift", "Sources/FerryC/Process/Monitor.swift",
                "Sources/FerryCore/Concurrency/Locked.swift",
            ]
        ),
    ]

    /// A `Mutex` that is held while a process forks traps in the child, and providers live in such children.
    @Test func `Sources has one kind of lock`() throws {
        for file in Tree.files(in: "Sources") {
            let code = try Tree.bytes(file)
            for lock in Self.locks where !lock.files.contains(file) && code.range(of: Data(lock.name.utf8)) != nil {
                Issue.record(
                    "\(file) has \(lock.name): use Locked, or in the library for C Monitor if a thread must wait."
                )
            }
        }
    }
}
