internal import ServiceLifecycle

/// Every provider as a service: it sends for as long as the group runs, and shuts down with it.
///
/// A group shuts its services down in the reverse order. Put the provider before the services that send with it:
/// otherwise they get ``SubmitError/shutDown`` while they still work.
extension PushProvider {
    /// How long the outcomes may take after the beginning of a graceful shutdown.
    private static var gracefulLimit: Duration { .seconds(30) }

    /// Waits for the group's graceful shutdown, then shuts the provider down within 30 s, with ``Proof/automatic``.
    ///
    /// - Throws: `CancellationError` when the task is cancelled. The provider then shuts down at once.
    public func run() async throws {
        do {
            try await gracefulShutdown()
        } catch {
            _ = await self.shutDown(within: .zero, proof: .silence)
            throw error
        }
        _ = await self.shutDownUnlessCancelled(within: Self.gracefulLimit, proof: .automatic)
    }
}
