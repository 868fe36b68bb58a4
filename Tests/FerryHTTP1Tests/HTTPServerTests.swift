import FerryHTTP1
import FerryOpenSSL
import FerryServer
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@Suite(.timeLimit(.minutes(10))) struct HTTPServerTests {
    /// Starts a server whose answers repeat the request.
    private static func start(
        _ limits: HTTPServer.Limits = .init(body: 100),
        configure: (inout Listener.Configuration) -> Void = { _ in }
    ) async throws -> HTTPServer {
        var configuration = Listener.Configuration()
        configuration.limits.closing = .milliseconds(200)
        configure(&configuration)
        return try await HTTPServer.start(configuration, limits: limits) { request, _ in
            let host = request.headers.first(name: "Host") ?? ""
            let token = request.headers.first(name: "Authorization") ?? ""
            let words = [request.method, request.path, request.parameter("a").map { String($0) } ?? "", host, token]
            return HTTPServerAnswer(
                status: 200,
                headers: ["Content-Type": "text/plain"],
                body: Array(words.joined(separator: "\n").utf8) + request.body
            )
        }
    }

    @Test func `a server on a socket in the file system gets method, target, headers and body`() async throws {
        let path = NSTemporaryDirectory() + "ferry-\(UUID().uuidString.prefix(8))"
        let server = try await Self.start { $0.socketPath = path }
        let client = try HTTPClient()
        let url = try HTTPURL(socketPath: path).with(target: "/metrics?b=1&a=2")
        let request = HTTPClientRequest(.POST, url, headers: ["Authorization": "Bearer t"], body: Array("\nx".utf8))
        let response = try await client.send(request, within: .seconds(60))
        #expect(response.status == 200)
        #expect(String(decoding: response.body, as: UTF8.self) == "POST\n/metrics\n2\nlocalhost\nBearer t\nx")
        #expect(response.headers["Content-Type"] == ["text/plain"])
        await server.stop(within: .seconds(2))
        try? FileManager.default.removeItem(atPath: path)
    }

    @Test func `an answer to HEAD has no body, and the connection goes on`() async throws {
        let authority = try ThrowAwayCA()
        let server = try await Self.start {
            let identity = try? authority.server(dnsNames: ["localhost"], ipAddresses: [])
            $0.tls = try? identity.map { try TLSContext(server: .init(identity: $0)) }
        }
        var configuration = HTTPClient.Configuration()
        configuration.trustRoots = authority.trustRoots
        let client = try HTTPClient(configuration)
        let url = try HTTPURL("https://localhost:\(server.port)/")
        let head = try await client.send(.init(.HEAD, url), within: .seconds(60))
        #expect(head.body == [])
        let whole = try await client.send(.init(.GET, url), within: .seconds(60))
        #expect(whole.body.starts(with: Array("GET\n/\n".utf8)))
        #expect(head.headers["Content-Length"] == ["\(whole.body.count + 1)"])
        #expect(server.counts.connections == 1)
        let large = HTTPClientRequest(.POST, url, body: [UInt8](repeating: 0, count: 101))
        #expect(try await client.send(large, within: .seconds(60)).status == 413)
        await server.stop(within: .seconds(2))
    }

    @Test func `a connection that sends nothing is closed when its time is over`() async throws {
        var limits = HTTPServer.Limits(body: 100)
        limits.opening = .milliseconds(50)
        let server = try await Self.start(limits)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: server.port).get()
        try await channel.closeFuture.get()
        await server.stop(within: .seconds(2))
    }
}
