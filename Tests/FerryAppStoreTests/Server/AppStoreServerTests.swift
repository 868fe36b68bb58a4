import FerryAppStoreTesting
import FerryCore
import FerryHTTP1
import FerryHTTP1TestSupport
import FerryOpenSSL
import FerryTesting
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import FerryAppStore

@Suite(.timeLimit(.minutes(10))) struct AppStoreServerTests {
    private let signing: Signing
    private let credentials: TestCredentials

    init() throws {
        self.signing = try Signing()
        self.credentials = try TestCredentials()
    }

    private func client() throws -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.trustRoots = self.credentials.trustRoots
        return try HTTPClient(configuration)
    }

    private func start(
        _ handOver: AppStoreHandOver,
        connections: Int = 1024,
        isPlain: Bool = false
    ) async throws -> AppStoreServer {
        let receiver = AppStoreReceiver(try self.signing.verifier(), handOver: handOver, answerLimit: .seconds(60))
        return try await self.start(receiver, connections: connections, isPlain: isPlain)
    }

    private func start(
        _ receiver: AppStoreReceiver,
        connections: Int = 1024,
        isPlain: Bool = false
    ) async throws -> AppStoreServer {
        var configuration = AppStoreServer.Configuration()
        configuration.path = "/appstore"
        configuration.identity = isPlain ? nil : self.credentials.server
        configuration.connectionLimit = connections
        return try await AppStoreServer.start(receiver, configuration)
    }

    private func post(
        _ body: [UInt8],
        to path: String,
        _ port: Int,
        method: HTTPMethod = .POST,
        scheme: String = "https"
    ) async throws -> Int {
        let url = try HTTPURL("\(scheme)://localhost:\(port)\(path)")
        // Far above what any answer takes on a machine that runs all tests at once.
        return try await self.client().send(HTTPClientRequest(method, url, body: body), within: .seconds(300)).status
    }

    @Test func `each case has its status, over TLS`() async throws {
        let server = try await self.start(.handler { _ in })
        let genuine = Signing.post(try self.signing.renewal())
        let forged = Signing.post(try Signing().renewal())
        let cases: [(Int, [UInt8], String, HTTPMethod)] = [
            (200, genuine, "/appstore", .POST), (200, genuine, "/appstore", .POST),
            (200, genuine, "/appstore?a=b", .POST),
            (200, [], "/appstore", .GET), (404, genuine, "/", .POST), (404, genuine, "/appstore/", .POST),
            (404, [], "/appstore/../appstore", .GET), (405, genuine, "/appstore", .PUT), (400, [], "/appstore", .POST),
            (400, Array("{}".utf8), "/appstore", .POST), (403, forged, "/appstore", .POST),
            (403, Signing.post(try self.signing.renewal(bundleID: "a.b")), "/appstore", .POST),
            (503, Signing.post(try self.signing.renewal(environment: "Xcode")), "/appstore", .POST),
            (413, [UInt8](repeating: 32, count: 10_000_000), "/appstore", .POST),
        ]
        for (status, body, path, method) in cases {
            #expect(try await self.post(body, to: path, server.port, method: method) == status)
        }
        await server.stop(within: .seconds(1))
    }

    /// Posts a notification to a receiver over TLS, and returns the status.
    private func status(of post: [UInt8], from receiver: AppStoreReceiver) async throws -> Int {
        let server = try await self.start(receiver)
        let status = try await self.post(post, to: "/appstore", server.port)
        await server.stop(within: .zero)
        return status
    }

    @Test func `a notification that cannot be judged or handed over now is answered with 503`() async throws {
        struct Failure: Error {}
        let gate = Gate()
        defer { gate.open() }
        let hang: @Sendable (AppStoreNotification) async throws -> Void = { _ in await gate.wait() }
        let post = Signing.post(try self.signing.renewal())
        func receiver(_ handler: @escaping @Sendable (AppStoreNotification) async throws -> Void) throws
            -> AppStoreReceiver
        {
            AppStoreReceiver(
                try self.signing.verifier(),
                handOver: .handler(handler),
                answerLimit: .milliseconds(100)
            )
        }
        #expect(try await self.status(of: post, from: receiver { _ in throw Failure() }) == 503)
        #expect(try await self.status(of: post, from: receiver(hang)) == 503)

        let ending = try receiver { _ in }
        await ending.shutDown(within: .zero)
        #expect(try await self.status(of: post, from: ending) == 503)

        let full = try receiver(hang)
        await withDiscardingTaskGroup { group in
            for number in 0..<1024 {
                group.addTask {
                    guard let text = try? self.signing.renewal(uuid: "\(number)") else { return }
                    _ = await full.answer(to: AppStoreRequest(body: Signing.post(text)))
                }
            }
        }
        #expect(try await self.status(of: post, from: full) == 503)
    }

    @Test func `while no responder says whether certificates are revoked, the answer is 503`() async throws {
        var shape = ThrowAwaySigningChain.Shape()
        // Nobody listens on this port.
        (shape.ocsp, shape.intermediateOCSP) = ("http://127.0.0.1:1/", "http://127.0.0.1:1/")
        let signing = try Signing(shape)
        var configuration = signing.configuration
        configuration.checksRevocation = true
        let receiver = AppStoreReceiver(try AppStoreVerifier(configuration), handOver: .handler { _ in })
        #expect(try await self.status(of: Signing.post(try signing.renewal()), from: receiver) == 503)
    }

    @Test
    func `a genuine notification that is not understood is answered with 500, so that it comes again`() async throws {
        let data = #"{"bundleId":"\#(Signing.bundleID)","environment":"Sandbox"}"#
        let text = try self.signing.signer.sign(Array(#"{"signedDate":1790000000000,"data":\#(data)}"#.utf8))
        let receiver = AppStoreReceiver(
            try self.signing.verifier(),
            handOver: .handler { _ in },
            answerLimit: .seconds(60)
        )
        #expect(try await self.status(of: Signing.post(text), from: receiver) == 500)
    }

    @Test(
        arguments: [
            "", "POST /appstore HTTP/1.1\r\nHost: a\r\nContent-Length: 19000\r\n\r\n{",
            "GET /appstore HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        ]
    )
    func `clients that send no whole request, or do not close, give their places to new ones`(sent: String) async throws
    {
        let server = try await self.start(.handler { _ in }, connections: 4, isPlain: true)
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
        for _ in 0..<20 {
            let channel = try await bootstrap.connect(host: "127.0.0.1", port: server.port).get()
            // Those whose places were taken are closed.
            try? await channel.writeAndFlush(ByteBuffer(string: sent))
        }
        for _ in 0..<8 {
            let post = Signing.post(try self.signing.renewal())
            #expect(try await self.post(post, to: "/appstore", server.port, scheme: "http") == 200)
        }
        await server.stop(within: .seconds(1))
    }

    @Test func `a notification goes through the store to one URL with a valid signature, and to another unchanged`()
        async throws
    {
        let folder = try TemporaryFolder()
        let (requests, continuation) = AsyncStream.makeStream(of: TestHTTPServer.Request.self)
        let application = try await TestHTTPServer.start { request in
            continuation.yield(request)
            return .answer(204)
        }
        let key = [UInt8](repeating: 7, count: 32)
        let secret = "whsec_\(Data(key).base64EncodedString())"
        let base = "http://localhost:\(application.port)"
        let store = AppStoreStore(
            path: folder.path("store.db"),
            destinations: [
                try .forward(to: "\(base)/plain", secrets: [secret]), try .forwardPost(to: "\(base)/post"),
            ]
        )
        try await store.open()
        let running = Task { await store.run() }
        let server = try await self.start(.store(store))
        let post = Signing.post(try self.signing.renewal(uuid: "U"))
        #expect(try await self.post(post, to: "/appstore", server.port) == 200)
        var seen: [String: TestHTTPServer.Request] = [:]
        for await request in requests {
            seen[request.uri] = request
            if seen.count == 2 { break }
        }
        #expect(seen["/post"]?.body == post)
        let plain = try #require(seen["/plain"])
        let headers = plain.headers
        #expect(headers["webhook-id"] == ["U"])
        #expect(headers["ferry-stale"] == ["false"])
        let message = Array("U.\(headers["webhook-timestamp"].first ?? "").".utf8) + plain.body
        let signature = Data(SHA256.authenticate(message, key: key)).base64EncodedString()
        #expect(headers["webhook-signature"] == ["v1,\(signature)"])
        await server.stop(within: .seconds(1))
        await store.end(within: .seconds(5))
        running.cancel()
        await running.value
        await store.close()
        await application.stop()
    }

    @Test func `secrets and URLs in a wrong form are refused, and no sentence shows them`() {
        let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
        for (url, secrets) in [
            ("ftp://host/", [secret]), ("https://user:sesame@host/", [secret]), ("https://host/", ["sesame"]),
            ("https://host/", []), ("https://host/", ["whsec_c2VzYW1l"]),
        ] {
            do {
                _ = try AppStoreDestination.forward(to: url, secrets: secrets)
                Issue.record("it was taken")
            } catch {
                #expect(!"\(error)".contains("sesame") && !"\(error)".contains("c2VzYW1l"))
            }
        }
    }
}
