import FerryCore
import FerryOpenSSL
import FerryTesting
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// A client of the App Store Server API, with one connection for each request.
struct APIClient: Sendable {
    struct Answer: Sendable {
        var status: Int
        var headers: HTTPHeaders
        var body: [UInt8]

        var object: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(self.body))) as? [String: Any] ?? [:]
        }

        var errorCode: Int? { self.object["errorCode"] as? Int }
    }

    struct NoAnswer: Error {}

    let port: Int
    let credentials: TestCredentials
    var bundleID = "com.example.app"

    /// Makes a bearer token. `change` changes the claims and the header before they are signed.
    func token(
        key: ES256Key? = nil,
        change: (inout [String: Any], inout [String: Any]) -> Void = { _, _ in }
    ) throws -> String {
        let now = Int(Date().timeIntervalSince1970)
        var header: [String: Any] = ["alg": "ES256", "kid": self.credentials.keyID, "typ": "JWT"]
        var claims: [String: Any] = [
            "iss": self.credentials.teamID, "iat": now, "exp": now + 300, "aud": "appstoreconnect-v1",
            "bid": self.bundleID,
        ]
        change(&header, &claims)
        let parts = try [header, claims].map { part in
            String(decoding: Base64URL.encode(Array(try JSONSerialization.data(withJSONObject: part))), as: UTF8.self)
        }
        let input = parts.joined(separator: ".")
        let signature = try (key ?? self.credentials.tokenKey).sign(Array(input.utf8))
        return "\(input).\(String(decoding: Base64URL.encode(signature), as: UTF8.self))"
    }

    func get(_ path: String) async throws -> Answer { try await self.send(.GET, path) }

    func post(_ path: String, _ body: [String: Any] = [:]) async throws -> Answer {
        try await self.send(.POST, path, body: Array(JSONSerialization.data(withJSONObject: body)))
    }

    func send(
        _ method: HTTPMethod,
        _ path: String,
        body: [UInt8] = [],
        authorization: String?? = .none
    ) async throws -> Answer {
        let authorization = try authorization ?? "Bearer \(self.token())"
        let context = try TLSContext(client: .init(trustRoots: self.credentials.trustRoots))
        var head = HTTPRequestHead(version: .http1_1, method: method, uri: path)
        head.headers.add(name: "Host", value: "localhost")
        if let authorization { head.headers.add(name: "Authorization", value: authorization) }
        head.headers.add(name: "Content-Length", value: String(body.count))
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = eventLoop.makePromise(of: Answer.self)
        let request = head
        let channel = try await ClientBootstrap(group: eventLoop)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        try TLSHandler(client: context, serverName: "localhost"), HTTPRequestEncoder(),
                        ByteToMessageHandler(HTTPResponseDecoder()), Handler(promise),
                    ])
                }
            }
            .connect(host: "127.0.0.1", port: self.port).get()
        channel.write(HTTPClientRequestPart.head(request), promise: nil)
        channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        defer { channel.close(promise: nil) }
        return try await promise.futureResult.get()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart

        private let promise: EventLoopPromise<Answer>
        private var answer: Answer?

        init(_ promise: EventLoopPromise<Answer>) { self.promise = promise }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head):
                self.answer = Answer(status: Int(head.status.code), headers: head.headers, body: [])
            case .body(let bytes): self.answer?.body += bytes.readableBytesView
            case .end: if let answer { self.promise.succeed(answer) }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            self.promise.fail(NoAnswer())
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { self.promise.fail(NoAnswer()) }
    }
}
