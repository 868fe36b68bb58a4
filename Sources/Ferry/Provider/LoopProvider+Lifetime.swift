public import FerryCore
internal import ServiceLifecycle

/// What a provider is made of.
public protocol ProviderConfiguration: Sendable {
    /// What is made of it.
    associatedtype Provider: PushProvider

    /// Makes a provider; connections come with work.
    func makeProvider() throws -> Provider
}

/// Makes a provider, runs `body` with it, and sees to its end.
///
/// When `body` returns, everything that was taken is brought to its outcome; when it throws or the task is cancelled,
/// the provider is shut down at once. Either way the provider is shut down when this returns.
///
/// - Parameters:
///   - limit: how long bringing everything to its outcome may take.
///   - proof: how the acceptance of the last notifications is found out. Over HTTP/2 every acceptance is proved.
/// - Throws: what making the provider or `body` throws.
public func withProvider<Configuration: ProviderConfiguration, Result>(
    _ configuration: Configuration,
    drainingWithin limit: Duration = .seconds(60),
    proof: Proof = .automatic,
    _ body: (Configuration.Provider) async throws -> Result
) async throws -> Result {
    let provider = try configuration.makeProvider()
    do {
        let result = try await body(provider)
        _ = await provider.shutdown(within: Task.isCancelled ? .zero : limit, proof: proof)
        return result
    } catch {
        _ = await provider.shutdown(within: .zero, proof: .silence)
        throw error
    }
}

extension LoopProvider {
    /// How long a graceful shutdown of a service may take.
    private static var gracefulLimit: Duration { .seconds(30) }

    /// Keeps the provider until its service group shuts down gracefully, then drains it within 30 s; when the task is
    /// cancelled, it is shut down at once.
    public func run() async throws {
        do {
            try await gracefulShutdown()
        } catch {
            _ = await self.shutdown(within: .zero, proof: .silence)
            throw error
        }
        _ = await self.shutdown(within: Self.gracefulLimit, proof: .silence)
    }
}
