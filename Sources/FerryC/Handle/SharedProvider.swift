internal import Ferry
internal import FerryCore

/// A provider that several handles of one process use under one name: the option `shared`.
///
/// The provider outlives its last handle, so that the next handle finds open connections. It ends with the process.
final class SharedProvider: Sendable {
    /// The largest number of shared providers in a process.
    static let limit = 64
    /// The number of full handles that the provider has room for. While fewer handles are full, they do not stop the
    /// other handles.
    static let roomForHandles = 16

    let backend: Backend
    let router: TagRouter
    let migration: MigratingProvider?
    let config: ConfigWatch?
    let goneDevices: FeedbackWriter?
    /// The options of the call that made the provider, in a fixed order, without the options that each handle has for
    /// itself.
    let options: String
    /// The same options, merged with those of the file.
    let merged: String
    /// The queue limit of a handle that does not set its own.
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

    /// The longest time that the end of the process waits for the provider's notifications. It is the longest `atExit`
    /// of the provider's handles.
    var exitLimit: Duration { self.longestExit.withLock { $0 } }

    func note(_ exitLimit: Duration) { self.longestExit.withLock { $0 = max($0, exitLimit) } }
}
