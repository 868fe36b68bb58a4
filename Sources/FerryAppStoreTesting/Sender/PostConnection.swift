internal import FerryOpenSSL
internal import FerryServer
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOTLS

/// A maker of connections to the server of the app. Safe from any thread.
struct PostDialer: Sendable {
    let target: PostTarget
    private let context: TLSContext?
    private let group: any EventLoopGroup

    /// - Throws: `TLSError` when the trust roots cannot be read.
    init(_ target: PostTarget, trustRoots: TrustRoots, group: any EventLoopGroup) throws(TLSError) {
        self.target = target
        self.context = target.isSecure ? try TLSContext(client: .init(trustRoots: trustRoots)) : nil
        self.group = group
    }

    /// Opens a connection. The future succeeds before the TLS handshake.
    func connect(within timeout: Duration) -> EventLoopFuture<PostConnection> {
        let eventLoop = self.group.next()
        let handler = eventLoop.makePromise(of: PostConnection.self)
        ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(timeout))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let socket = SocketHandler()
                    let operations = channel.pipeline.syncOperations
                    try operations.addHandler(socket)
                    if let context {
                        var limits = ServerLimits()
                        limits.closing = .milliseconds(250)
                        limits.handshake = timeout
                        let tls = try TLSHandler(client: context, serverName: self.target.host, limits: limits.tls)
                        try operations.addHandler(tls)
                    }
                    try operations.addHandlers([
                        HTTPRequestEncoder(),
                        ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes)),
                        PostHandler(socket, target: self.target, isSecure: self.context != nil),
                    ])
                }
            }
            .connect(host: self.target.host, port: self.target.port)
            .whenComplete { result in
                switch result {
                case .failure(let error): handler.fail(error)
                case .success(let channel):
                    handler.completeWith(
                        Result {
                            let handler = try channel.pipeline.syncOperations.handler(type: PostHandler.self)
                            return PostConnection(channel, NIOLoopBound(handler, eventLoop: eventLoop))
                        }
                    )
                }
            }
        return handler.futureResult
    }
}

/// A connection to the server of the app, for one post at a time. Safe from any thread.
final class PostConnection: Sendable {
    private let channel: any Channel
    private let handler: NIOLoopBound<PostHandler>

    fileprivate init(_ channel: any Channel, _ handler: NIOLoopBound<PostHandler>) {
        self.channel = channel
        self.handler = handler
    }

    /// Whether another post may go over it.
    var isOpen: Bool { self.channel.isActive }

    /// Posts a body.
    ///
    /// - Parameter timeout: the limit for handshake, post and answer.
    /// - Returns: the answer, and whether the connection may be used again.
    func post(
        _ body: [UInt8],
        delivery: NotificationSender.Delivery,
        within timeout: Duration
    ) async -> (NotificationAnswer, isReusable: Bool) {
        let promise = self.channel.eventLoop.makePromise(of: PostHandler.Outcome.self)
        self.channel.eventLoop.execute {
            self.handler.value.post(body, delivery: delivery, within: timeout, promise)
        }
        let outcome = try? await promise.futureResult.get()
        return (outcome?.answer ?? .failure(.other), outcome?.isReusable ?? false)
    }

    func close() { self.channel.close(promise: nil) }
}
