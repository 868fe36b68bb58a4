internal import Ferry
internal import FerryHTTP1
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryProxy
internal import NIOHTTP1

/// A probe that sends at most three requests to a receiver, one after the other. Each has its own connection. Otherwise
/// a server that ends a kept connection would look like one that refuses a large body.
struct ReceiverProbe: Sendable {
    /// The user agent. It begins like Apple's, because a firewall may check it. The rest names the doctor in a log.
    static let userAgent = "Apache-HttpClient/4.5 (ferry doctor)"
    static let contentType = "application/json; charset=UTF-8"
    /// The largest answer that is read, in bytes. A server may send a whole page with an error.
    private static let answerLimit = 8 << 20

    var url: HTTPURL
    var trustRoots: TrustRoots
    var proxy: HTTPProxy?
    /// The limit of each request.
    var limit: Duration

    /// - Throws: `TLSError` when the trust roots cannot be read.
    func run() async throws -> ReceiverFacts {
        let signer = try ForgedNotification.signer()
        let small = try ForgedNotification.small(signer, at: Date())
        let large = try ForgedNotification.large(signer, at: Date())
        var configuration = HTTPClient.Configuration()
        configuration.trustRoots = self.trustRoots
        configuration.proxy = self.proxy
        configuration.idleConnections = 0
        let client = try HTTPClient(configuration)
        var facts = ReceiverFacts(
            url: self.url,
            limit: self.limit,
            get: await self.exchange(.GET, [], client),
            small: await self.exchange(.POST, small.post, client),
            uuids: [small.uuid]
        )
        guard facts.small.response != nil else { return facts }
        facts.large = await self.exchange(.POST, large.post, client)
        facts.uuids.append(large.uuid)
        return facts
    }

    private func exchange(_ method: HTTPMethod, _ body: [UInt8], _ client: HTTPClient) async -> ReceiverFacts.Exchange {
        var headers: HTTPHeaders = ["User-Agent": Self.userAgent]
        if method == .POST { headers.add(name: "Content-Type", value: Self.contentType) }
        var request = HTTPClientRequest(method, self.url, headers: headers, body: body)
        request.bodyLimit = Self.answerLimit
        let start = ContinuousClock.now
        let result: Result<HTTPClientResponse, HTTPClientError>
        do throws(HTTPClientError) {
            result = .success(try await client.send(request, within: self.limit))
        } catch {
            result = .failure(error)
        }
        return ReceiverFacts.Exchange(size: body.count, time: ContinuousClock.now - start, result: result)
    }
}
