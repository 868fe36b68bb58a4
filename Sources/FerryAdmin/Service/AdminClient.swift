package import FerryHTTP1
package import FerryOpenSSL
internal import NIOHTTP1

/// A client of the admin service of another process. Any thread may use it.
package struct AdminClient: Sendable {
    /// The longest time until an answer.
    private static let limit: Duration = .seconds(10)
    /// The longest time until the answer to a command. A reload reads files, and binds addresses.
    private static let commandLimit: Duration = .seconds(60)
    /// The longest answer, in bytes. The status of ten thousand clients is shorter.
    private static let longest = 32 << 20

    private let client: HTTPClient
    private let url: HTTPURL
    private let token: String?

    /// - Parameter path: the socket of the service.
    /// - Throws: `TLSError` as `HTTPClient` declares, but never in fact, because the socket uses no trust roots.
    package init(socket path: String) throws(TLSError) {
        self.client = try HTTPClient()
        self.url = HTTPURL(socketPath: path)
        self.token = nil
    }

    /// - Parameters:
    ///   - url: the port of the service: `http://127.0.0.1:2199`.
    ///   - token: the token that a request must have; nil if the port needs no token.
    /// - Throws: `TLSError` when the trust roots cannot be read.
    package init(url: HTTPURL, token: String?, trustRoots: TrustRoots) throws(TLSError) {
        var configuration = HTTPClient.Configuration()
        configuration.trustRoots = trustRoots
        self.client = try HTTPClient(configuration)
        self.url = url
        self.token = token
    }

    /// Returns the answer to `GET`.
    package func get(_ path: String) async throws(HTTPClientError) -> HTTPClientResponse {
        try await self.send(.GET, path, [], within: Self.limit)
    }

    /// Sends `POST` once, and returns the answer. Only the socket accepts `POST`.
    ///
    /// - Parameter limit: the longest time until the answer; nil for a minute.
    package func post(
        _ path: String,
        _ body: [UInt8] = [],
        within limit: Duration? = nil
    ) async throws(HTTPClientError) -> HTTPClientResponse {
        try await self.send(.POST, path, body, within: limit ?? Self.commandLimit)
    }

    private func send(
        _ method: HTTPMethod,
        _ path: String,
        _ body: [UInt8],
        within limit: Duration
    ) async throws(HTTPClientError) -> HTTPClientResponse {
        // Our own paths have no characters that must be encoded.
        let url = (try? self.url.with(target: path)) ?? self.url
        var request = HTTPClientRequest(method, url, body: body)
        request.bodyLimit = Self.longest
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        return try await self.client.send(request, within: limit)
    }
}
