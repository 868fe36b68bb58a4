internal import Ferry
internal import FerryCore

/// A provider that the handles of one process share under a name: the option `shared`.
///
/// It stays when its last handle is freed, so that the next one finds its connections open. It ends with the process.
final class SharedProvider: Sendable {
    /// How many shared providers a process may have.
    static let limit = 64
    /// The provider has room for this many full handles: one that is full stops only itself.
    static let roomForHandles = 16

    let backend: Backend
    let router: TagRouter
    let migration: MigratingProvider?
    let config: ConfigWatch?
    let goneDevices: FeedbackWriter?
    /// The options of the call that made it, in one order, without those that a handle has for itself.
    let options: String
    /// The same with those of the file.
    let merged: String
    /// The limit of a handle without one of its own.
    let handleLimit: Int
    private let longestExit = Monitor(Duration.zero)

    init(
        _ backend: Backend,
        router: TagRouter,
        migration: MigratingProvider?,
        config: ConfigWatch?,
        goneDevices: FeedbackWriter?,
        options: String,
        merged: String,
        handleLimit: Int
    ) {
        self.backend = backend
        self.router = router
        self.migration = migration
        self.config = config
        self.goneDevices = goneDevices
        self.options = options
        self.merged = merged
        self.handleLimit = handleLimit
    }

    /// How long the end of the process waits for its notifications: what the most patient handle so far has asked for.
    var exitLimit: Duration { self.longestExit.withLock { $0 } }

    func note(_ exitLimit: Duration) { self.longestExit.withLock { $0 = max($0, exitLimit) } }
}
