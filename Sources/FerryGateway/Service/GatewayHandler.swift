internal import FerryBinary
internal import FerryCore
internal import FerryOpenSSL
internal import FerryServer
internal import NIOCore
internal import NIOTLS

/// The end of a client connection's pipeline: passes its bytes to the ``GatewayDriver``, and does the driver's actions.
final class GatewayHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// How long a measured round trip is good for.
    private static let roundTripLifetime: TimeAmount = .milliseconds(250)

    private let driver: GatewayDriver
    private let clients: GatewayClients
    private let tls: TLSHandler
    private var context: ChannelHandlerContext?
    /// Nil before the handshake.
    private var id: ConnectionID?
    private var isReading = true
    /// Whether the channel asked to read while that was not allowed.
    private var wantsRead = false
    private var sampledAt: NIODeadline?

    init(driver: GatewayDriver, clients: GatewayClients, tls: TLSHandler) {
        self.driver = driver
        self.clients = clients
        self.tls = tls
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    /// Closes before the handshake if no client is welcome: one that has written something would take it for sent.
    func channelActive(context: ChannelHandlerContext) {
        guard self.driver.isOpen(for: self.address(context)) else { return context.close(promise: nil) }
        context.fireChannelActive()
    }

    private func address(_ context: ChannelHandlerContext) -> String { context.remoteAddress?.ipAddress ?? "a client" }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: From the client

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted:
            self.begin(context)
        case ChannelEvent.inputClosed:
            self.end()
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard
            let identity = self.clients.identity(of: self.tls.peerCertificate, self.tls.isPeerChainVerified),
            self.driver.isOpen(identity: identity, for: self.address(context))
        else {
            context.close(promise: nil)
            return
        }
        self.id = self.driver.connected(self, identity: identity, address: context.remoteAddress?.bytes ?? [])
        self.sample(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let id = self.id else { return }
        self.sample(context)
        let bytes = self.unwrapInboundIn(data)
        self.driver.run { $0.received(id, bytes, now: $1) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let id = self.id { self.driver.disconnected(id) }
        self.id = nil
        context.fireChannelInactive()
    }

    /// Says who was refused. After an error, TLS and the channel close by themselves.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard self.id == nil, let tls = error as? TLSError else { return }
        let certificate = self.clients.takeRefused().map {
            "No client of the configuration has this certificate: \($0)."
        }
        self.driver.refused(self.address(context), certificate ?? tls.description)
    }

    private func end() {
        guard let id = self.id else { return }
        self.driver.run { $0.inputEnded(id, now: $1) }
    }

    func read(context: ChannelHandlerContext) {
        if self.isReading { context.read() } else { self.wantsRead = true }
    }

    /// Measures the round trip, if the last measurement is old.
    private func sample(_ context: ChannelHandlerContext) {
        let now = NIODeadline.now()
        if let sampledAt, now - sampledAt < Self.roundTripLifetime { return }
        self.sampledAt = now
        guard let socket = context.channel as? any SocketOptionProvider, let id = self.id else { return }
        let driver = self.driver
        TCPInfo.get(socket).assumeIsolated().whenSuccess { info in
            driver.run { machine, _ in machine.sampled(id, roundTrip: info.roundTrip) }
        }
    }

    // MARK: To the client

    func tell(_ response: ErrorResponse) {
        guard let context = self.context else { return }
        var bytes = context.channel.allocator.buffer(capacity: ErrorResponse.length)
        response.write(to: &bytes)
        context.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
    }

    func closeOutput() { self.context?.close(mode: .output, promise: nil) }

    func close() { self.context?.close(promise: nil) }

    func setReading(_ isReading: Bool) {
        self.isReading = isReading
        guard isReading, self.wantsRead else { return }
        self.wantsRead = false
        self.context?.read()
    }
}

extension SocketAddress {
    /// The bytes of the IP address, in network order; empty for other addresses.
    fileprivate var bytes: [UInt8] {
        // After family and port: four bytes in `sockaddr_in`, and in `sockaddr_in6` sixteen after the flow information.
        switch self {
        case .v4(let address): withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address): withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
        case .unixDomainSocket: []
        }
    }
}
