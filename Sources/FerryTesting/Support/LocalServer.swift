/// A server in this process that a program needs for a while.
package protocol LocalServer {
    /// Closes the server and its connections.
    ///
    /// - Parameter limit: how long the end may take.
    func stop(within limit: Duration) async
}

extension SimulatedAPNs: LocalServer {}
extension SimulatedFeedback: LocalServer {}
extension SimulatedGateway: LocalServer {}

extension LocalServer {
    /// Calls `body` with the server, and then stops the server, also after an error.
    ///
    /// - Parameters:
    ///   - limit: how long the end may take.
    ///   - errorLimit: how long the end may take after an error.
    package func serving<Value>(
        stopWithin limit: Duration = .seconds(5),
        afterErrorWithin errorLimit: Duration = .seconds(5),
        _ body: (Self) async throws -> Value
    ) async throws -> Value {
        do {
            let value = try await body(self)
            await self.stop(within: limit)
            return value
        } catch {
            await self.stop(within: errorLimit)
            throw error
        }
    }
}
