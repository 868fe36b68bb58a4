internal import FerryTerminal

extension ListeningCommand {
    /// Runs a server. A standard error that nobody reads does not keep it from its end, although it says why it failed.
    func reportingFailure(of body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let failure as CommandFailure {
            MessageWriter.shared.write(LogMessage(ServerLogEvent.failed, .error, failure.message))
            await MessageWriter.shared.flush(within: .seconds(1))
            throw failure.status
        }
    }
}
