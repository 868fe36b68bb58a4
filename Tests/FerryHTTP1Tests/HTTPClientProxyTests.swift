import FerryHTTP1
import FerryHTTP1TestSupport
import FerryOpenSSL
import FerryProxy
import FerryProxyTestSupport
import NIOHTTP1
import Testing

/// Requests through HTTP proxies, good and bad, over loopback.
@Suite(.timeLimit(.minutes(10))) struct HTTPClientProxyTests {
    /// `Basic` and the Base64 form of `ferry:open sesame`.
    private static let authorization = "Basic ZmVycnk6b3BlbiBzZXNhbWU="

    /// Sends a request through a proxy, and calls `body` with its result.
    private func send(
        _ behaviour: TestProxy.Behaviour,
        password: String? = nil,
        within limit: Duration = .seconds(100),
        _ body: (Result<HTTPClientResponse, HTTPClientError>, TestProxy, TestHTTPServer) throws -> Void
    ) async throws {
        let authority = try ThrowAwayCA()
        let server = try await TestHTTPServer.start(authority) { _ in .answer(204) }
        try await TestProxy.run(behaviour) { proxy in
            var configuration = HTTPClient.Configuration()
            configuration.trustRoots = authority.trustRoots
            configuration.proxy = HTTPProxy(
                host: "127.0.0.1",
                port: proxy.port,
                userName: password.map { _ in "ferry" },
                password: password
            )
            let client = try HTTPClient(configuration)
            let request = HTTPClientRequest(.GET, try server.url())
            let result: Result<HTTPClientResponse, HTTPClientError>
            do throws(HTTPClientError) {
                result = .success(try await client.send(request, within: limit))
            } catch {
                result = .failure(error)
            }
            try body(result, proxy, server)
        }
        await server.stop()
    }

    private func sentence(
        _ behaviour: TestProxy.Behaviour,
        password: String? = nil,
        within limit: Duration = .seconds(100)
    ) async throws -> (code: HTTPClientError.Code, text: String) {
        var found: (HTTPClientError.Code, String)?
        try await self.send(behaviour, password: password, within: limit) { result, _, _ in
            guard case .failure(let error) = result else { return }
            found = (error.code, error.description)
        }
        return try #require(found)
    }

    @Test func `a request goes through a proxy`() async throws {
        try await self.send(.tunnel(authorization: Self.authorization), password: "open sesame") {
            result,
            proxy,
            server in
            #expect(try result.get().status == 204)
            let head = try #require(proxy.requests.first)
            #expect(head.hasPrefix("CONNECT localhost:\(server.port) HTTP/1.1\r\n"))
            #expect(server.requests.first?.header("Proxy-Authorization") == nil)
        }
    }

    @Test func `each failure of a proxy says which it is`() async throws {
        let wanted = TestProxy.Behaviour.tunnel(authorization: Self.authorization)
        #expect(try await self.sentence(wanted).text.contains("wants a user name and a password (status 407)"))
        let refused = try await self.sentence(wanted, password: "wrong")
        #expect(refused.code == .connectFailed)
        #expect(refused.text.contains("refused the user name and the password (status 407)"))
        let denied = try await self.sentence(.say("HTTP/1.1 403 Forbidden\r\n\r\n", closes: true))
        #expect(denied.text.contains("did not connect to localhost:"))
        #expect(denied.text.contains("status 403"))
        #expect(try await self.sentence(.say("SSH-2.0\r\n", closes: false)).text.contains("is no HTTP proxy"))
        let closed = try await self.sentence(.say("HTTP/1.1 2", closes: true))
        #expect(closed.text.contains("closed the connection before it answered"))
    }

    @Test func `a proxy that hangs is given up in time, before and behind its answer`() async throws {
        let silent = try await self.sentence(.silence, within: .milliseconds(300))
        #expect(silent.code == .timedOut)
        #expect(silent.text.hasPrefix("The proxy 127.0.0.1:"))
        #expect(silent.text.hasSuffix("took the connection, and did not answer in time."))
        let nowhere = try await self.sentence(.leadNowhere, within: .milliseconds(300))
        #expect(nowhere.code == .timedOut)
        #expect(nowhere.text.contains("(through the proxy 127.0.0.1:"))
    }

    @Test func `a proxy that dies in the middle is named`() async throws {
        let died = try await self.sentence(.dieInTheMiddle)
        #expect(died.code == .connectFailed)
        #expect(died.text.contains("the proxy 127.0.0.1:"))
        #expect(died.text.contains("ended before TLS was established"))
    }
}
