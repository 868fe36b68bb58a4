import Ferry
import FerryTesting
import Foundation

/// A simulated feedback service, and its reader.
struct FeedbackHarness: Sendable {
    let credentials: TestCredentials
    let service: SimulatedFeedback

    /// Starts a service, runs `body`, and stops the service.
    static func run(
        _ script: FeedbackScript = FeedbackScript(),
        maximumTLSVersion: TLSVersion = .tls12,
        _ body: (FeedbackHarness) async throws -> Void
    ) async throws {
        let credentials = try TestCredentials()
        var configuration = SimulatedFeedback.Configuration(credentials: credentials)
        configuration.script = script
        configuration.maximumTLSVersion = maximumTLSVersion
        let service = try await SimulatedFeedback.start(configuration)
        do {
            try await body(FeedbackHarness(credentials: credentials, service: service))
        } catch {
            await service.stop()
            throw error
        }
        await service.stop()
    }

    var configuration: FeedbackConfiguration {
        FeedbackConfiguration(port: self.service.port, credentials: self.credentials)
    }

    func sweep(_ change: (inout FeedbackConfiguration) throws -> Void = { _ in }) throws -> FeedbackSweep {
        var configuration = self.configuration
        try change(&configuration)
        return try FeedbackReader(configuration).sweep()
    }

    /// Makes tuples with different device tokens.
    static func tuples(_ numbers: Range<Int>) throws -> [FeedbackTuple] {
        try numbers.map { try FeedbackTuple(time: Date(timeIntervalSince1970: Double($0)), token: Harness.device($0)) }
    }

    static func script(
        _ numbers: Range<Int>,
        _ fault: FeedbackScript.Fault? = nil,
        times: Int? = nil
    ) throws -> FeedbackScript {
        let tuples = try self.tuples(numbers).map { FeedbackScript.Tuple(time: $0.time, token: $0.token.bytes) }
        return FeedbackScript(tuples, fault: fault, times: times)
    }
}

extension FeedbackConfiguration {
    init(port: Int, credentials: TestCredentials) {
        self.init(host: "127.0.0.1", port: port, identity: credentials.client)
        self.trustRoots = credentials.trustRoots
        self.serverName = "localhost"
        self.connectTimeout = Harness.forever
        self.idleTimeout = Harness.forever
        self.sweepTimeout = Harness.forever
    }
}

extension FeedbackSweep {
    /// The next tuple.
    func next() async throws -> FeedbackTuple? {
        var iterator = self.makeAsyncIterator()
        return try await iterator.next()
    }

    /// Returns all tuples, and the error after them.
    func all() async -> (tuples: [FeedbackTuple], error: FeedbackError?) {
        var tuples: [FeedbackTuple] = []
        do {
            for try await tuple in self { tuples.append(tuple) }
            return (tuples, nil)
        } catch {
            return (tuples, error)
        }
    }
}
