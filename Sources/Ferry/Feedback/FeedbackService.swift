public import ServiceLifecycle

/// Reads the feedback list at intervals for as long as a service group runs.
///
/// ```swift
/// let service = FeedbackService(reader) { event in
///     if case .tuple(let tuple) = event { await devices.forget(tuple.token, goneSince: tuple.time) }
/// }
/// let group = ServiceGroup(services: [provider, service], logger: logger)
/// ```
public struct FeedbackService: Service {
    private let reader: FeedbackReader
    private let handle: @Sendable (FeedbackEvent) async throws -> Void

    /// - Parameters:
    ///   - reader: the reader of the list. Its configuration has the interval.
    ///   - handle: called with each event in turn. Reading pauses while it runs for long.
    public init(_ reader: FeedbackReader, _ handle: @escaping @Sendable (FeedbackEvent) async throws -> Void) {
        self.reader = reader
        self.handle = handle
    }

    /// Reads until the group shuts down gracefully. A running reading is then finished. If the task is cancelled, the
    /// connection closes, and tuples that were read are still handled.
    ///
    /// - Throws: the error of the handler. It ends the reading; tuples that were read and not handled are lost.
    public func run() async throws {
        let events = self.reader.events()
        try await withGracefulShutdownHandler {
            for await event in events { try await self.handle(event) }
        } onGracefulShutdown: {
            events.stop()
        }
    }
}
