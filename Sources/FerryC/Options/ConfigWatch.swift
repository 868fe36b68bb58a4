internal import Ferry
internal import FerryCore
internal import FerryOptions
internal import FerryPlatform
internal import Synchronization

/// The watch on a configuration file. It passes a changed `share` to the migrating provider. Any thread may use it.
///
/// The watch has no thread: calls of the program such as `ferry_submit` and `ferry_read` check the file, once a second
/// at most. Calls that wait, and `ferry_report`, do not check the file.
final class ConfigWatch: Sendable {
    private struct State {
        var file: ConfigFile
        /// The reason why the present file cannot be used; nil if the file can be used. With a fault, the earlier
        /// options stay.
        var fault: String?
    }

    /// The shortest time between two checks of the file, in nanoseconds.
    private static let interval: Int64 = 1_000_000_000

    private let migration: MigratingProvider
    private let nextLook: Atomic<Int64>
    private let state: Monitor<State>

    init(_ file: ConfigFile, of migration: MigratingProvider) {
        self.migration = migration
        self.nextLook = Atomic(Self.now + Self.interval)
        self.state = Monitor(State(file: file))
    }

    /// Reads the file if it has changed, and gives its `share` to the provider. Calls within one ``interval`` do
    /// nothing, because a check costs a system call.
    func look() {
        let now = Self.now
        let due = self.nextLook.load(ordering: .relaxed)
        guard now >= due,
            self.nextLook.compareExchange(expected: due, desired: now + Self.interval, ordering: .relaxed).exchanged
        else { return }
        self.state.withLock { state in
            guard state.file.hasChanged else { return }
            do throws(OptionFault) {
                let file = try ConfigFile(path: state.file.path)
                var options = file.options
                if let share = try options.take("share") { self.migration.rule.share = share.number }
                state = State(file: file)
            } catch {
                // The file may be written only in part. The next check may find it complete.
                state.fault = error.sentence
            }
        }
    }

    var fault: String? { self.state.withLock { $0.fault } }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
