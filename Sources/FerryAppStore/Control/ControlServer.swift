internal import FerryHTTP1
internal import FerryServer

/// A server on a socket in the file system, beside the store. Through this socket, commands of the same user reach the
/// process that has the store.
package final class ControlServer: Sendable {
    /// The largest number of open connections. Each command has one.
    private static let connectionLimit = 32
    /// The limits of a request. The longest body is a notification in base64url. A client has 60 s to read a long
    /// list.
    private static var limits: HTTPServer.Limits {
        var limits = HTTPServer.Limits(body: 4 << 20)
        (limits.opening, limits.request, limits.pause) = (.seconds(5), .seconds(5), .seconds(60))
        return limits
    }

    private let server: HTTPServer

    /// The path of the socket for a store.
    package static func path(store: String) -> String { "\(store)-control" }

    /// - Throws: a socket error.
    package static func start(store: String, _ desk: StoreDesk) async throws -> ControlServer {
        var configuration = Listener.Configuration()
        configuration.socketPath = Self.path(store: store)
        configuration.limits.connections = Self.connectionLimit
        let server = try await HTTPServer.start(configuration, limits: Self.limits) { request, _ in
            guard let request = ControlRequest(request) else {
                return Self.answer(404, [StoreDesk.error("The process that has the store does not know this request.")])
            }
            return Self.answer(200, await desk.answer(request))
        }
        return ControlServer(server)
    }

    private init(_ server: HTTPServer) { self.server = server }

    package func stop() async { await self.server.stop(within: .seconds(1)) }

    private static func answer(_ status: Int, _ lines: [[UInt8]]) -> HTTPServerAnswer {
        let end = [UInt8(ascii: "\n")]
        return HTTPServerAnswer(status: status, body: Array(lines.joined(separator: end)) + end)
    }
}
