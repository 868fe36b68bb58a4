internal import Ferry
internal import FerryCore
internal import FerryOptions
internal import FerryPlatform
internal import Synchronization

/// Carries the share of a migration from its configuration file to the provider while the program runs. Any thread.
///
/// There is no thread for it: calls look at the file, once a second at most.
final class ConfigWatch: Sendable {
    private struct State {
        var file: ConfigFile
        /// The reason why the present file cannot be used; nil if it can. The earlier options then stay.
        var fault: String?
    }

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
    /// nothing, because a look costs a system call.
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
                // Half a file, perhaps: the next look may find it whole.
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
