internal import FerryCore
public import ServiceLifecycle

/// Makes a provider, runs `body` with it, and sees to its end.
///
/// When `body` returns, everything that was taken is brought to its outcome; when it throws or the task is cancelled,
/// the provider is shut down at once. Either way the provider is shut down when this returns.
///
/// - Parameter limit: how long bringing everything to its outcome may take.
/// - Throws: what making the provider or `body` throws.
public func withProvider<Result>(
    _ configuration: HTTP2Configuration,
    drainingWithin limit: Duration = .seconds(60),
    _ body: (HTTP2Provider) async throws -> Result
) async throws -> Result {
    try await HTTP2Provider(configuration).run(drainingWithin: limit, proof: .automatic, body)
}

extension HTTP2Provider: Service {
    /// Keeps the provider until its service group shuts down gracefully, then drains it within 30 s; when the task is
    /// cancelled, it is shut down at once.
    public func run() async throws {
        try await self.runAsService()
    }
}
