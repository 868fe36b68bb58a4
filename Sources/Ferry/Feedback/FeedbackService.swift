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

    /// - Parameter handle: called with one event after the other; nothing more is read while it is slow.
    public init(_ reader: FeedbackReader, _ handle: @escaping @Sendable (FeedbackEvent) async throws -> Void) {
        self.reader = reader
        self.handle = handle
    }

    /// Reads until the group shuts down gracefully; a reading that is under way is then read to its end. When the task
    /// is cancelled, it is closed, and what was read is still handled.
    ///
    /// - Throws: what the handler throws, which ends the reading and loses what was read and not handled.
    public func run() async throws {
        let events = self.reader.events()
        try await withGracefulShutdownHandler {
            for await event in events { try await self.handle(event) }
        } onGracefulShutdown: {
            events.stop()
        }
    }
}
