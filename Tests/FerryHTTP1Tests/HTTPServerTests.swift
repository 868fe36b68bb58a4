import FerryHTTP1
import FerryHTTP1TestSupport
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

    @Test func `a full server takes the place of a connection between two requests, not in one`() async throws {
        let server = try await Self.start { $0.limits.connections = 2 }
        let received = Collected<String>()
        let busy = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(TextCollector(received))
                }
            }
            .connect(host: "127.0.0.1", port: server.port).get()
        let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        try await busy.writeAndFlush(ByteBuffer(string: head))
        while received.all.isEmpty { await Task.yield() }
        let url = try HTTPURL("http://127.0.0.1:\(server.port)/")
        let (first, second) = (try HTTPClient(), try HTTPClient())
        for client in [first, second, first] {
            let answer = try await client.send(.init(.GET, url), within: .seconds(60))
            #expect(answer.status == 200)
        }
        try await busy.writeAndFlush(ByteBuffer(string: "xy"))
        while busy.isActive, !received.all.joined().hasSuffix("xy") { await Task.yield() }
        #expect(received.all.joined().contains("200 OK"))
        try? await busy.close()
        await server.stop(within: .seconds(2))
    }

    @Test func `a client that takes no answer gives the place that was wanted before the answer`() async throws {
        let calls = Collected<Void>()
        let (news, answer) = AsyncStream.makeStream(of: Void.self)
        var configuration = Listener.Configuration()
        let path = NSTemporaryDirectory() + "ferry-\(UUID().uuidString.prefix(8))"
        configuration.socketPath = path
        configuration.limits.connections = 1
        var limits = HTTPServer.Limits(body: 100)
        limits.pause = .seconds(3600)
        let server = try await HTTPServer.start(configuration, limits: limits) { request, _ in
            guard request.path == "/large" else { return HTTPServerAnswer(status: 200) }
            calls.append(())
            for await _ in news {}
            return HTTPServerAnswer(status: 200, body: [UInt8](repeating: 0, count: 4 << 20))
        }
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .connect(unixDomainSocketPath: path).get()
        try await channel.writeAndFlush(ByteBuffer(string: "GET /large HTTP/1.1\r\nHost: a\r\n\r\n"))
        while calls.all.isEmpty { await Task.yield() }
        let client = try HTTPClient()
        let url = try HTTPURL(socketPath: path).with(target: "/")
        async let status = client.send(.init(.GET, url), within: .seconds(60)).status
        while server.counts.waits == 0 { await Task.yield() }
        answer.finish()
        #expect(try await status == 200)
        try? await channel.close()
        await server.stop(within: .seconds(2))
        try? FileManager.default.removeItem(atPath: path)
    }

    @Test func `requests of a client that takes no answers wait, and are answered later`() async throws {
        let calls = Collected<Void>()
        let received = Collected<Int>()
        let answer = HTTPServerAnswer(status: 200, body: [UInt8](repeating: 0, count: 65_536))
        var configuration = Listener.Configuration()
        let path = NSTemporaryDirectory() + "ferry-\(UUID().uuidString.prefix(8))"
        configuration.socketPath = path
        let server = try await HTTPServer.start(configuration, limits: .init(body: 100)) { _, _ in
            calls.append(())
            return answer
        }
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ByteCounter(received))
                }
            }
            .connect(unixDomainSocketPath: path).get()
        let head = "GET / HTTP/1.1\r\nHost: a\r\n"
        let requests = String(repeating: head + "\r\n", count: 399) + head + "Connection: close\r\n\r\n"
        try await channel.writeAndFlush(ByteBuffer(string: requests))
        // The server stops by itself: wait until no further request was passed on for a while.
        var (last, rounds) = (0, 0)
        while rounds < 20 {
            try await Task.sleep(for: .milliseconds(10))
            rounds = calls.all.count == last && last > 0 ? rounds + 1 : 0
            last = calls.all.count
        }
        #expect(last < 100)
        try await channel.setOption(.autoRead, value: true).get()
        try await channel.closeFuture.get()
        #expect(calls.all.count == 400)
        #expect(received.all.reduce(0, +) > 400 * answer.body.count)
        await server.stop(within: .seconds(2))
        try? FileManager.default.removeItem(atPath: path)
    }

    @Test func `a request whose client takes no answers is given up when the pause is over`() async throws {
        var configuration = Listener.Configuration()
        configuration.limits.closing = .milliseconds(200)
        let path = NSTemporaryDirectory() + "ferry-\(UUID().uuidString.prefix(8))"
        configuration.socketPath = path
        var limits = HTTPServer.Limits(body: 100)
        limits.pause = .milliseconds(50)
        let server = try await HTTPServer.start(configuration, limits: limits) { _, _ in
            HTTPServerAnswer(status: 200, body: [UInt8](repeating: 0, count: 4 << 20))
        }
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .connect(unixDomainSocketPath: path).get()
        let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        try await channel.writeAndFlush(ByteBuffer(string: request + request))
        while server.openConnections == 0 { try await Task.sleep(for: .milliseconds(1)) }
        while server.openConnections > 0 { try await Task.sleep(for: .milliseconds(5)) }
        try? await channel.close()
        await server.stop(within: .seconds(2))
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// Notes the texts that a client reads.
private final class TextCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: Collected<String>

    init(_ received: Collected<String>) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.received.append(String(buffer: self.unwrapInboundIn(data)))
    }
}

/// Notes the lengths of the reads of a client.
private final class ByteCounter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: Collected<Int>

    init(_ received: Collected<Int>) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.received.append(self.unwrapInboundIn(data).readableBytes)
    }
}
