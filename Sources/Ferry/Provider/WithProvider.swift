public import FerryCore

/// The settings from which a provider is made.
public protocol ProviderConfiguration: Sendable {
    /// The type of provider that this configuration makes.
    associatedtype Provider: PushProvider

    /// Makes a provider. It connects when there is work.
    func makeProvider() throws -> Provider
}

/// Makes a provider, runs `body` with it, and shuts it down.
///
/// When `body` returns, the provider first gives every notification its outcome, for at most `limit`. When `body`
/// throws or the task is cancelled, the provider shuts down at once.
///
/// - Parameters:
///   - configuration: the settings of the provider.
///   - limit: how long the outcomes may take.
///   - proof: how to find out whether the last notifications were accepted. HTTP/2 ignores it: each acceptance is
///     proved.
///   - body: called once, with the provider.
/// - Returns: the result of `body`.
/// - Throws: the error of `body`, or the error of making the provider.
public func withProvider<Configuration: ProviderConfiguration, Result>(
    _ configuration: Configuration,
    drainingWithin limit: Duration = .seconds(60),
    proof: Proof = .automatic,
    _ body: (Configuration.Provider) async throws -> Result
) async throws -> Result {
    let provider = try configuration.makeProvider()
    do {
        let result = try await body(provider)
        _ = await provider.shutDown(within: Task.isCancelled ? .zero : limit, proof: proof)
        return result
    } catch {
        _ = await provider.shutDown(within: .zero, proof: .silence)
        throw error
    }
}
