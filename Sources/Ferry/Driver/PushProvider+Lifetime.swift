internal import FerryCore
internal import ServiceLifecycle

extension PushProvider {
    /// How long a graceful shutdown of a service may take.
    private static var gracefulLimit: Duration { .seconds(30) }

    /// Runs `body` and sees to the provider's end: what `withProvider` does, once there is one.
    func run<Result>(
        drainingWithin limit: Duration,
        proof: Proof,
        _ body: (Self) async throws -> Result
    ) async throws -> Result {
        do {
            let result = try await body(self)
            _ = await self.shutdown(within: Task.isCancelled ? .zero : limit, proof: proof)
            return result
        } catch {
            _ = await self.shutdown(within: .zero, proof: .silence)
            throw error
        }
    }

    /// Keeps the provider until its service group shuts down gracefully.
    func runAsService() async throws {
        do {
            try await gracefulShutdown()
        } catch {
            _ = await self.shutdown(within: .zero, proof: .silence)
            throw error
        }
        _ = await self.shutdown(within: Self.gracefulLimit, proof: .silence)
    }
}
