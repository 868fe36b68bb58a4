internal import FerryTerminal

extension ListeningCommand {
    /// Runs a server, and writes why it failed. If nobody reads standard error, the server still ends, after a
    /// second.
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
