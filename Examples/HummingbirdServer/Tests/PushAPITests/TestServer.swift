import Foundation
import Hummingbird
import NIOCore
import ServiceLifecycle

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A running application. HummingbirdTesting does more, and brings a TLS library that takes minutes to compile.
struct TestServer {
    struct Answer {
        var status: HTTPResponse.Status
        var body: Data
    }

    private let url: URL

    /// Runs an application on a free port while `body` talks to it. Then shuts it down, like a service that gets SIGTERM.
    static func run(
        _ application: some ApplicationProtocol,
        _ body: (TestServer) async throws -> Void
    ) async throws {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let service = ListeningApplication(base: application, port: port)
        let services = ServiceGroup(configuration: .init(services: [service], logger: application.logger))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // An application that does not start has no port.
                defer { port.finish() }
                try await services.run()
            }
            for await port in ports.prefix(1) {
                try await body(TestServer(url: URL(string: "http://127.0.0.1:\(port)")!))
                await services.triggerGracefulShutdown()
            }
            try await group.waitForAll()
        }
    }

    func send(_ method: HTTPRequest.Method, _ path: String, _ body: Data? = nil) async throws -> Answer {
        var request = URLRequest(url: self.url.appending(path: path))
        request.httpMethod = method.rawValue
        request.httpBody = body
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        let (body, response) = try await URLSession.shared.data(for: request)
        return Answer(status: .init(code: (response as! HTTPURLResponse).statusCode), body: body)
    }
}

/// An application that takes a free port, and tells it.
private struct ListeningApplication<Base: ApplicationProtocol>: ApplicationProtocol {
    let base: Base
    let port: AsyncStream<Int>.Continuation

    var responder: Base.Responder { get async throws { try await self.base.responder } }
    var configuration: ApplicationConfiguration {
        self.base.configuration.with(address: .hostname("127.0.0.1", port: 0))
    }
    var services: [any Service] { self.base.services }

    func onServerRunning(_ channel: any Channel) async {
        if let port = channel.localAddress?.port { self.port.yield(port) }
    }
}
