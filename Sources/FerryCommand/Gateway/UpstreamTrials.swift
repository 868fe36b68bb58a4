internal import Ferry
internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryTerminal

/// One connection to each upstream of a gateway, up to the answer to a PING. Nothing is pushed.
struct UpstreamTrials: Sendable {
    /// The result of one upstream, in words.
    enum Verdict: Equatable, Sendable {
        case usable(String)
        /// The code is nil if the settings cannot be used, so that no connection was tried.
        case failed(reason: String, code: ProviderError.Code?)
    }

    private let upstreams: [(name: String, configuration: HTTP2Configuration)]

    /// - Parameter names: the upstreams to try; nil for all.
    init(_ plan: GatewayPlan, only names: Set<String>? = nil) {
        self.upstreams = zip(plan.upstreamNames, plan.upstreams).map { (name: $0, configuration: $1) }
            .filter { names?.contains($0.name) ?? true }
    }

    /// Tries all upstreams at the same time, and returns the verdicts in their order.
    func run() async -> [(upstream: String, verdict: Verdict)] {
        await withTaskGroup(of: (Int, Verdict).self) { group in
            for (index, upstream) in self.upstreams.enumerated() {
                group.addTask { (index, await Self.verdict(on: upstream.configuration)) }
            }
            var verdicts: [(Int, Verdict)] = []
            for await verdict in group { verdicts.append(verdict) }
            return verdicts.sorted { $0.0 < $1.0 }.map { (self.upstreams[$0.0].name, $0.1) }
        }
    }

    /// Tries the upstreams of a gateway that runs, and warns of each that cannot be used. An upstream whose
    /// connections have failed is tried again while no notification asks for a connection. Returns a task for each
    /// upstream with a watch. The task runs until it is cancelled.
    ///
    /// - Parameters:
    ///   - watches: the watches of the upstreams, by their names. They get the results.
    ///   - pace: the times between trials. A test waits less.
    func start(
        _ watches: [String: UpstreamWatch],
        pace: TrialPace = TrialPace(),
        write: @escaping @Sendable (LogMessage) -> Void
    ) -> [String: Task<Void, Never>] {
        var tasks: [String: Task<Void, Never>] = [:]
        for (name, configuration) in self.upstreams {
            guard let watch = watches[name] else { continue }
            tasks[name] = Task {
                var pace = pace
                await Self.tryOnce(name, configuration, watch, &pace, write)
                // A cancelled sleep throws.
                while (try? await Task.sleep(for: pace.look)) != nil {
                    pace.looked(isFailing: watch.isFailing, connections: watch.connections)
                    if watch.awaitsTrial, pace.isDue(at: .now) {
                        await Self.tryOnce(name, configuration, watch, &pace, write)
                    }
                }
            }
        }
        return tasks
    }

    /// Tries an upstream, and says what an operator should hear.
    private static func tryOnce(
        _ name: String,
        _ configuration: HTTP2Configuration,
        _ watch: UpstreamWatch,
        _ pace: inout TrialPace,
        _ write: @Sendable (LogMessage) -> Void
    ) async {
        let verdict = await self.verdict(on: configuration)
        // The verdict of a cancelled trial says nothing: the gateway ends, or a reload has replaced the upstream.
        guard !Task.isCancelled else { return }
        switch verdict {
        case .usable:
            pace.worked()
            guard watch.trialSucceeded() else { return }
            write(
                LogMessage(
                    GatewayLogEvent.upstream,
                    .notice,
                    "upstreams.\(name): it can be used now",
                    [.upstream: .text(name)]
                )
            )
        case .failed(let reason, let code):
            pace.failed(at: .now)
            // If not, the provider has already logged the state of its own connections.
            guard watch.trialFailed(.now("The trial of the connection failed: \(reason)"), code) else { return }
            write(
                .warning(
                    GatewayLogEvent.upstream,
                    "upstreams.\(name): it cannot be used now: \(reason)",
                    [.upstream: .text(name), .reason: .text(reason)]
                )
            )
        }
    }

    private static func verdict(on configuration: HTTP2Configuration) async -> Verdict {
        let trial: HTTP2Trial
        do {
            trial = try HTTP2Trial(configuration)
        } catch {
            return .failed(reason: ConnectionAdvice.sentence(error), code: nil)
        }
        switch await trial.run() {
        case .success(let answer): return .usable(self.words(answer, configuration))
        case .failure(let error): return .failed(reason: error.message, code: error.code)
        }
    }

    /// The result of a trial, with the parts that no trial can show.
    static func words(_ answer: HTTP2Trial.Answer, _ configuration: HTTP2Configuration) -> String {
        let way = configuration.proxy.map { " through the proxy \($0)" } ?? ""
        let requests =
            switch answer.maxConcurrentStreams {
            case 1: "1 request at a time"
            case Int(Int32.max)...: "any number of requests at a time"
            case let count: "\(count) requests at a time"
            }
        let credential =
            switch configuration.credentials {
            case .certificate: "it takes the certificate"
            case .token: "only a push proves the provider token"
            @unknown default: "only a push proves the credentials"
            }
        let server = Endpoint.text(configuration.host, configuration.port)
        return "\(server) answers\(way): it allows \(requests), and answered a PING; \(credential)"
    }
}
