import FerryHTTP1
import FerryHTTP1TestSupport
import FerryOpenSSL
import NIOHTTP1
import Testing

@Suite(.timeLimit(.minutes(10))) struct HTTPClientTests {
    private let authority: ThrowAwayCA
    private let client: HTTPClient

    init() throws {
        self.authority = try ThrowAwayCA()
        var configuration = HTTPClient.Configuration()
        configuration.trustRoots = self.authority.trustRoots
        self.client = try HTTPClient(configuration)
    }

    private func failure(
        _ request: HTTPClientRequest,
        within limit: Duration = .seconds(100)
    ) async -> HTTPClientError? {
        do throws(HTTPClientError) {
            _ = try await self.client.send(request, within: limit)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a request over TLS arrives whole, and so does its answer`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { request in
            .answer(201, headers: ["X-Path": request.uri], request.body.reversed())
        }
        var request = HTTPClientRequest(.POST, try server.url("/a?b=c"), headers: ["Authorization": "Bearer t"])
        request.body = Array((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
        let answer = try await self.client.send(request, within: .seconds(100))
        #expect(answer.status == 201)
        #expect(answer.headers.first(name: "x-path") == "/a?b=c")
        #expect(answer.body == request.body.reversed())
        let received = try #require(server.requests.first)
        #expect(received.header("Host") == "localhost:\(server.port)")
        #expect(received.header("Authorization") == "Bearer t")
        #expect(received.header("Content-Length") == "200000")
        await server.stop()
    }

    @Test func `plain HTTP works without TLS, and HEAD has no body`() async throws {
        let server = try await TestHTTPServer.start { request in
            request.method == .HEAD
                ? .raw("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", thenCloses: false) : .answer(204)
        }
        #expect(try await self.client.send(.init(.GET, server.url()), within: .seconds(100)).status == 204)
        #expect(try await self.client.send(.init(.HEAD, server.url()), within: .seconds(100)).body == [])
        #expect(server.requests.first?.header("Content-Length") == nil)
        await server.stop()
    }

    @Test func `a redirect is an answer and is not followed`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { _ in
            .answer(302, headers: ["Location": "/elsewhere"])
        }
        #expect(try await self.client.send(.init(.GET, server.url()), within: .seconds(100)).status == 302)
        #expect(server.requests.count == 1)
        await server.stop()
    }

    @Test func `a server that stays silent costs the time limit and no more`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { $0.uri == "/" ? .answer(204) : .silence }
        // Over a connection that is open: a handshake takes longer than the limit on a machine that is busy.
        _ = try await self.client.send(.init(.GET, server.url("/")), within: .seconds(60))
        let error = await self.failure(.init(.GET, try server.url("/secret")), within: .milliseconds(300))
        #expect(error?.code == .timedOut)
        #expect(error?.wasSent == true)
        #expect(error?.description == "localhost:\(server.port) took the request, and did not answer in time.")
        await server.stop()
    }

    @Test func `an answer that stops in its middle costs the time limit and no more`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { request in
            request.uri == "/"
                ? .answer(204) : .raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", thenCloses: false)
        }
        _ = try await self.client.send(.init(.GET, server.url("/")), within: .seconds(60))
        let error = await self.failure(.init(.GET, try server.url("/slow")), within: .seconds(3))
        #expect(error?.code == .timedOut)
        #expect(error?.description == "localhost:\(server.port) did not complete its answer in time.")
        await server.stop()
    }

    @Test(
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n80\r\n\(String(repeating: "a", count: 128))\r\n",
        ]
    )
    func `if only the status counts, a body that is too long or cut costs the connection and no more`(_ answer: String)
        async throws
    {
        let server = try await TestHTTPServer.start { _ in .raw(answer, thenCloses: true) }
        var request = HTTPClientRequest(.POST, try server.url(), isIdempotent: true)
        request.bodyLimit = 100
        #expect(await self.failure(request) != nil)
        request.needsBody = false
        for _ in 0..<2 {
            let response = try await self.client.send(request, within: .seconds(60))
            #expect(response.status == 200)
            #expect(response.body == [])
        }
        #expect(server.requests.map(\.connection) == [1, 2, 3])
        await server.stop()
    }

    @Test func `a server without TLS gets no byte of a request over https`() async throws {
        let server = try await TestHTTPServer.start { _ in .silence }
        let url = try HTTPURL("https://127.0.0.1:\(server.port)/")
        let error = await self.failure(.init(.GET, url), within: .seconds(100))
        // The server's HTTP parser closes the connection at once.
        #expect(error?.code == .connectFailed)
        #expect(error?.wasSent == false)
        await server.stop()
    }

    @Test func `the error tells whether the connection was cut before the answer or inside it`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { request in
            request.uri == "/lost"
                ? .close : .raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", thenCloses: true)
        }
        #expect(await self.failure(.init(.POST, try server.url("/lost")))?.code == .connectionLost)
        #expect(await self.failure(.init(.GET, try server.url("/cut")))?.code == .answerCut)
        await server.stop()
    }

    @Test func `a body that ends with the connection is whole only if TLS was closed properly`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { _ in
            .raw("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall", thenCloses: true)
        }
        let answer = try await self.client.send(.init(.GET, server.url()), within: .seconds(100))
        #expect(answer.body == Array("all".utf8))
        await server.stop()
    }

    @Test(
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n6\r\nabcdef\r\n",
        ]
    )
    func `a body over the limit is refused, whether its length was announced or not`(_ text: String) async throws {
        let server = try await TestHTTPServer.start(self.authority) { _ in .raw(text, thenCloses: false) }
        var request = HTTPClientRequest(.GET, try server.url())
        request.bodyLimit = 10
        #expect(await self.failure(request)?.code == .answerTooLong)
        await server.stop()
    }

    @Test func `a body that is not taken is read to its end, and costs no connection`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { request in
            request.uri == "/cut"
                ? .raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", thenCloses: true)
                : .answer(200, [UInt8](repeating: 0, count: 3 << 20))
        }
        for _ in 0..<2 {
            var request = HTTPClientRequest(.GET, try server.url())
            request.bodyLimit = nil
            #expect(try await self.client.send(request, within: .seconds(100)).body == [])
        }
        #expect(server.connectionCount == 1)
        var request = HTTPClientRequest(.GET, try server.url("/cut"))
        request.bodyLimit = nil
        #expect(await self.failure(request)?.code == .answerCut)
        await server.stop()
    }

    @Test func `a time of its own for connecting does not lengthen the time for the answer`() async throws {
        let server = try await TestHTTPServer.start { _ in .silence }
        let request = HTTPClientRequest(.POST, try server.url())
        let error = await #expect(throws: HTTPClientError.self) {
            try await self.client.send(request, within: .milliseconds(300), connecting: .seconds(500))
        }
        #expect(error?.code == .timedOut)
        #expect(error?.wasSent == true)
        await server.stop()
    }

    @Test func `an answer that is not HTTP is malformed`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { _ in
            .raw("SSH-2.0-OpenSSH\r\n\r\n", thenCloses: false)
        }
        #expect(await self.failure(.init(.GET, try server.url()))?.code == .malformedAnswer)
        await server.stop()
    }

    @Test func `a certificate for another name is refused, and so is one of another authority`() async throws {
        let named = try await TestHTTPServer.start(self.authority, dnsNames: ["other.example"]) { _ in .answer(200) }
        let foreign = try await TestHTTPServer.start(ThrowAwayCA()) { _ in .answer(200) }
        for server in [named, foreign] {
            let error = await self.failure(.init(.GET, try server.url()))
            #expect(error?.code == .peerNotTrusted)
            #expect(error?.wasSent == false)
            #expect(server.requests.isEmpty)
            await server.stop()
        }
    }

    @Test func `a port without a server is refused at once, and a name without an address is named`() async throws {
        let server = try await TestHTTPServer.start { _ in .silence }
        let url = try server.url()
        await server.stop()
        let refused = await self.failure(.init(.GET, url))
        #expect(refused?.code == .connectFailed)
        #expect(refused?.description == "No connection to 127.0.0.1:\(url.port): Connection refused.")
        let unresolved = await self.failure(.init(.GET, try HTTPURL("http://no-such-host.invalid/")))
        #expect(unresolved?.code == .connectFailed)
        #expect(unresolved?.description.contains("no-such-host.invalid:80") == true)
    }

    @Test func `requests one after another share a connection`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { _ in .answer(200) }
        for _ in 0..<5 {
            _ = try await self.client.send(.init(.POST, server.url(), body: [1]), within: .seconds(100))
        }
        #expect(server.connectionCount == 1)
        self.client.close()
        _ = try await self.client.send(.init(.GET, server.url()), within: .seconds(100))
        #expect(server.connectionCount == 2)
        await server.stop()
    }

    @Test func `a server that ends the connection with its answer gets a new connection`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { _ in
            .answer(200, headers: ["Connection": "close"])
        }
        for _ in 0..<3 { _ = try await self.client.send(.init(.GET, server.url()), within: .seconds(100)) }
        #expect(server.connectionCount == 3)
        await server.stop()
    }

    @Test func `simultaneous requests have their own connections, and a few of these are kept`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { _ in .answer(200) }
        let url = try server.url()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<12 {
                group.addTask { try await self.client.send(.init(.GET, url), within: .seconds(100)).status }
            }
            for try await status in group { #expect(status == 200) }
        }
        #expect(server.requests.count == 12)
        await server.stop()
    }

    @Test func `only a request that does no harm twice is repeated when a kept connection had ended`() async throws {
        // The first request of a connection is answered, and the second closes it: as if it had just timed out there.
        let seen = Seen()
        let server = try await TestHTTPServer.start(self.authority) { request in
            seen.isFirst(request.connection) ? .answer(200) : .close
        }
        _ = try await self.client.send(.init(.GET, server.url()), within: .seconds(100))
        #expect(try await self.client.send(.init(.GET, server.url()), within: .seconds(100)).status == 200)
        #expect(server.connectionCount == 2)
        let lost = await self.failure(.init(.POST, try server.url(), body: [1]))
        #expect(lost?.code == .connectionLost)
        #expect(lost?.wasSent == true)
        #expect(server.connectionCount == 2)
        _ = try await self.client.send(.init(.GET, server.url()), within: .seconds(100))
        let again = HTTPClientRequest(.POST, try server.url(), body: [1], isIdempotent: true)
        #expect(try await self.client.send(again, within: .seconds(100)).status == 200)
        #expect(server.connectionCount == 4)
        await server.stop()
    }

    @Test func `a cancelled request ends at once, both before and after it was sent`() async throws {
        let arrived = Signal()
        let server = try await TestHTTPServer.start(self.authority) { _ in
            arrived.set()
            return .silence
        }
        let url = try server.url()
        let waiting = Task { await self.failure(.init(.GET, url), within: .seconds(50)) }
        await arrived.wait()
        waiting.cancel()
        #expect(await waiting.value?.code == .cancelled)
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await self.failure(.init(.GET, url), within: .seconds(50))
        }
        #expect(await late.value?.code == .cancelled)
        #expect(server.requests.count == 1)
        await server.stop()
    }

    @Test func `a slow request is whole, and one that is cut or left has its fault`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { _ in .answer(200) }
        var request = HTTPClientRequest(.POST, try server.url(), body: [UInt8](repeating: 32, count: 1001))
        request.delivery = .slow
        #expect(try await self.client.send(request, within: .seconds(100)).status == 200)
        #expect(server.requests.map(\.body) == [request.body])
        request.delivery = .impatient
        #expect(await self.failure(request)?.code == .timedOut)
        request.delivery = .cut
        guard case .lost(isSent: false, _) = await self.failure(request)?.fault else {
            Issue.record("a request that is cut was sent")
            return
        }
        await server.stop()
    }

    @Test func `a header that would begin another line is not sent`() async throws {
        let server = try await TestHTTPServer.start { _ in .answer(200) }
        let request = HTTPClientRequest(.GET, try server.url(), headers: ["X": "secret\r\nY: z"])
        let error = await self.failure(request)
        #expect(error?.code == .invalidRequest)
        #expect(error?.description.contains("secret") == false)
        #expect(server.requests.isEmpty)
        await server.stop()
    }
}
