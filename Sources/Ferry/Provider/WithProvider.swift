public import FerryCore

/// The settings from which a provider is made.
public protocol ProviderConfiguration: Sendable {
    /// The type of provider that this configuration makes.
    associatedtype Provider: PushProvider

    /// The receiver of the outcomes.
    var outcomes: OutcomeDelivery { get set }

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
/// - Returns: the result of `body`. For the numbers of the outcomes, let `body` return nothing, or look at the counts.
/// - Throws: the error of `body`, or the error of making the provider.
public func withProvider<Configuration: ProviderConfiguration, Result>(
    _ configuration: Configuration,
    drainingWithin limit: Duration = .seconds(60),
    proof: Proof = .automatic,
    _ body: (Configuration.Provider) async throws -> Result
) async throws -> Result {
    try await run(body, with: try configuration.makeProvider(), drainingWithin: limit, proof: proof).result
}

/// Makes a provider, runs `body` with it, shuts it down, and returns the report of its whole life.
///
/// Like ``withProvider(_:drainingWithin:proof:_:)->Result``, for a `body` without a result.
@discardableResult
public func withProvider<Configuration: ProviderConfiguration>(
    _ configuration: Configuration,
    drainingWithin limit: Duration = .seconds(60),
    proof: Proof = .automatic,
    _ body: (Configuration.Provider) async throws -> Void
) async throws -> DrainReport {
    try await run(body, with: try configuration.makeProvider(), drainingWithin: limit, proof: proof).report
}

/// Makes a provider, runs `body` with it while `reader` reads the outcomes, and shuts it down.
///
/// Like ``withProvider(_:drainingWithin:proof:_:)->Result``. The outcomes go to `reader`, whatever the configuration says of them.
///
/// ```swift
/// let (report, refused) = try await withProvider(configuration) { provider in
///     try await provider.submit(&batch)
/// } outcomes: { outcomes in
///     var refused: [PushTag] = []
///     for await record in outcomes { if case .rejected = record.outcome { refused.append(record.tag) } }
///     return refused
/// }
/// ```
///
/// - Parameters:
///   - configuration: the settings of the provider.
///   - limit: how long the outcomes may take.
///   - proof: how to find out whether the last notifications were accepted.
///   - body: called once, with the provider.
///   - reader: called once, with the outcomes, in a child task. It gets every outcome: the stream ends when everything has
///     its outcome and was read, also when `body` throws or the task is cancelled. What it leaves unread is thrown away, so
///     that `body` does not wait for it.
/// - Returns: the report, and what the reader returned.
@discardableResult
public func withProvider<Configuration: ProviderConfiguration, Read: Sendable>(
    _ configuration: Configuration,
    drainingWithin limit: Duration = .seconds(60),
    proof: Proof = .automatic,
    _ body: (Configuration.Provider) async throws -> Void,
    outcomes reader: @escaping @Sendable (OutcomeStream) async -> Read
) async throws -> (report: DrainReport, read: Read) {
    var configuration = configuration
    configuration.outcomes = .stream
    let provider = try configuration.makeProvider()
    let outcomes = provider.outcomes.untilItsEnd
    async let reading: Read = {
        let read = await reader(outcomes)
        for await _ in outcomes {}
        return read
    }()
    do {
        let report = try await run(body, with: provider, drainingWithin: limit, proof: proof).report
        return (report, await reading)
    } catch {
        _ = await reading
        throw error
    }
}

/// Runs `body`, and shuts the provider down: at once if it throws or the task is cancelled.
private func run<Provider: PushProvider, Result>(
    _ body: (Provider) async throws -> Result,
    with provider: Provider,
    drainingWithin limit: Duration,
    proof: Proof
) async throws -> (result: Result, report: DrainReport) {
    do {
        let result = try await body(provider)
        return (result, await provider.shutDownUnlessCancelled(within: limit, proof: proof))
    } catch {
        _ = await provider.shutDown(within: .zero, proof: .silence)
        throw error
    }
}
