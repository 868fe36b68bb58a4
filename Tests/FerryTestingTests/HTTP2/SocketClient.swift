internal import FerryHTTP2
internal import FerryOpenSSL
internal import FerryTesting
internal import Foundation
internal import NIOCore
internal import NIOPosix
internal import NIOTLS

/// An HTTP/2 client on a real socket that sends requests and keeps the answers.
final class SocketClient: Sendable {
    struct Request: Sendable {
        var token = "00ff"
        var topic = APNsRehearsal.topic
        var id = UUID().uuidString.lowercased()
        var authorization: String?
        var body = #"{"aps":{}}"#
    }

    /// The end of a connection.
    struct Ending: Sendable {
        var wasOrderly = false
        var wasReset = false
        var tlsError: TLSError?
        /// The last streams of the GOAWAYs that arrived.
        var goAways: [Int32] = []
    }

    private let channel: any Channel
    private let peer: NIOLoopBound<Peer>
    private let ending: EventLoopFuture<Ending>

    private init(_ channel: any Channel, _ peer: Peer) {
        self.channel = channel
        self.peer = NIOLoopBound(peer, eventLoop: channel.eventLoop)
        self.ending = peer.ending.futureResult
    }

    /// Connects. Returns when SETTINGS have arrived or the connection has ended.
    static func connect(
        to apns: SimulatedAPNs,
        trusting roots: TrustRoots,
        as identity: TLSIdentity? = nil,
        protocols: [String] = ["h2"]
    ) async throws -> SocketClient {
        let context = try TLSContext(
            client: .init(trustRoots: roots, identity: identity, applicationProtocols: protocols)
        )
        let (host, port) = (apns.host, apns.port)
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let ready = eventLoop.makePromise(of: SocketClient.self)
        return try await ClientBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let peer = try Peer(channel)
                    peer.isReady = { ready.succeed(SocketClient(channel, peer)) }
                    let tls = try TLSHandler(client: context, serverName: host)
                    try channel.pipeline.syncOperations.addHandlers([tls, peer] as [any ChannelHandler])
                }
            }
            .connect(host: host, port: port)
            .flatMap { _ in ready.futureResult }
            .get()
    }

    /// Makes requests. Returns when each is answered or the connection has ended.
    func ask(_ requests: [Request]) async throws -> [Told] {
        let peer = self.peer
        return try await self.channel.eventLoop.flatSubmit { peer.value.ask(requests) }.get()
    }

    /// Waits for the end of the connection, and returns it.
    func end() async throws -> Ending { try await self.ending.get() }

    func close() async throws {
        try await self.channel.close()
    }

    private final class Peer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        let ending: EventLoopPromise<Ending>
        var isReady: () -> Void = {}
        private let channel: any Channel
        private var session: HTTP2Session
        private var block = HeaderBlock()
        private var found = Ending()
        private var bodies: [UnsafeMutableBufferPointer<UInt8>] = []
        private var waiting: [HTTP2Session.Stream: Int] = [:]
        private var told: [Told] = []
        private var answered: EventLoopPromise<[Told]>?

        init(_ channel: any Channel) throws {
            self.channel = channel
            self.session = try HTTP2Session(role: .client)
            self.ending = channel.eventLoop.makePromise()
        }

        deinit {
            for body in self.bodies { body.deallocate() }
        }

        func ask(_ requests: [Request]) -> EventLoopFuture<[Told]> {
            let promise = self.channel.eventLoop.makePromise(of: [Told].self)
            self.answered = promise
            self.told = Array(repeating: Told(), count: requests.count)
            for (index, request) in requests.enumerated() {
                // If the connection takes no more requests, the remaining ones keep an empty answer.
                guard let stream = try? self.send(request) else { break }
                self.waiting[stream] = index
            }
            self.write()
            self.complete()
            return promise.futureResult
        }

        private func send(_ request: Request) throws -> HTTP2Session.Stream {
            self.block.clear()
            self.block.append(":method", "POST")
            self.block.append(":scheme", "https")
            self.append(":path", "/3/device/\(request.token)")
            self.block.append(":authority", "localhost")
            self.append("apns-topic", request.topic)
            self.append("apns-id", request.id)
            if let authorization = request.authorization { self.append("authorization", authorization) }
            let body = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: request.body.utf8.count)
            _ = body.initialize(from: request.body.utf8)
            self.bodies.append(body)
            return try self.session.request(self.block, body: UnsafeBufferPointer(body))
        }

        private func append(_ name: StaticString, _ value: String) {
            self.block.append(name, upTo: value.utf8.count) { target in
                for (index, byte) in value.utf8.enumerated() { target[index] = byte }
                return value.utf8.count
            }
        }

        private func write() {
            var bytes = ByteBuffer()
            if self.session.write(into: &bytes, atMost: .max) {
                self.channel.writeAndFlush(bytes, promise: nil)
            }
            self.readEvents()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            do {
                try self.unwrapInboundIn(data).withUnsafeReadableBytes { try self.session.receive($0) }
            } catch {
                context.close(promise: nil)
            }
            self.readEvents()
            self.write()
        }

        private func readEvents() {
            while let event = self.session.nextEvent() {
                switch event {
                case .settings: self.isReady()
                case .goAway(let last, _, _): self.found.goAways.append(last)
                case .closed(let stream, let errorCode): self.close(stream, errorCode)
                default: break
                }
            }
            self.complete()
        }

        private func close(_ stream: HTTP2Session.Stream, _ errorCode: UInt32) {
            guard let index = self.waiting.removeValue(forKey: stream) else { return }
            var told = Told(errorCode: errorCode)
            self.session.forEachField(of: stream) { name, value in
                told.fields[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
            }
            told.status = told.fields[":status"].flatMap { Int($0) }
            told.body = self.session.withBody(of: stream) { String(decoding: $0, as: UTF8.self) }
            told.reason = told.body.split(separator: "\"").dropFirst(3).first.map(String.init)
            self.told[index] = told
        }

        private func complete() {
            guard self.waiting.isEmpty, let answered = self.answered else { return }
            self.answered = nil
            answered.succeed(self.told)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            switch event as? TLSUserEvent {
            case .handshakeCompleted: self.write()
            case .shutdownCompleted: self.found.wasOrderly = true
            case nil: break
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if let error = error as? IOError, error.errnoCode == ECONNRESET { self.found.wasReset = true }
            if let error = error as? TLSError { self.found.tlsError = error }
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.isReady()
            self.waiting = [:]
            self.complete()
            self.ending.succeed(self.found)
        }
    }
}
