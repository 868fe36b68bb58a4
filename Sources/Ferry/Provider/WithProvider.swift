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
/// Do not read ``PushProvider/outcomes`` to its end in `body`: the stream ends only after `body`, so both would wait for
/// ever. Use ``withProvider(_:drainingWithin:proof:_:outcomes:)``.
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
    try await run(body, with: try configuration.makeProvider(), drainingWithin: limit, proof: proof)
}

/// Makes a provider, runs `body` with it while `reader` reads the outcomes, and shuts it down.
///
/// Like ``withProvider(_:drainingWithin:proof:_:)``. The configuration must say ``OutcomeDelivery/stream``: otherwise the
/// reader's stream ends at once.
///
/// ```swift
/// try await withProvider(configuration) { provider in
///     try await provider.submit(&batch)
/// } outcomes: { outcomes in
///     for await record in outcomes { print(record.tag, record.outcome) }
/// }
/// ```
///
/// - Parameters:
///   - body: called once, with the provider.
///   - reader: called once, with the outcomes, in a child task. Its stream ends when everything has its outcome and was
///     read, also when `body` throws, and at once when the task is cancelled. Outcomes that it leaves unread are thrown
///     away.
/// - Returns: the result of `body`, after the reader has returned.
public func withProvider<Configuration: ProviderConfiguration, Result>(
    _ configuration: Configuration,
    drainingWithin limit: Duration = .seconds(60),
    proof: Proof = .automatic,
    _ body: (Configuration.Provider) async throws -> Result,
    outcomes reader: @escaping @Sendable (OutcomeStream) async -> Void
) async throws -> Result {
    let provider = try configuration.makeProvider()
    async let reading: Void = reader(provider.outcomes)
    do {
        let result = try await run(body, with: provider, drainingWithin: limit, proof: proof)
        await reading
        return result
    } catch {
        // Leaving the function cancels the reader, which would then miss the last outcomes.
        await reading
        throw error
    }
}

/// Runs `body`, and shuts the provider down: at once if it throws or the task was cancelled.
private func run<Provider: PushProvider, Result>(
    _ body: (Provider) async throws -> Result,
    with provider: Provider,
    drainingWithin limit: Duration,
    proof: Proof
) async throws -> Result {
    do {
        let result = try await body(provider)
        _ = await provider.shutDown(within: Task.isCancelled ? .zero : limit, proof: proof)
        return result
    } catch {
        _ = await provider.shutDown(within: .zero, proof: .silence)
        throw error
    }
}
