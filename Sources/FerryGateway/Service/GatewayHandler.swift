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

    private enum State {
        case handshaking
        /// The store is asked for the client. The handler asks for no bytes meanwhile; those that come all the same wait.
        case opening(Early)
        case open(ConnectionID)
        case closed
    }

    /// What came before the store had answered.
    private struct Early {
        var bytes: [ByteBuffer] = []
        var hasEnded = false
    }

    /// How long a measured round trip is good for.
    private static let roundTripLifetime: TimeAmount = .milliseconds(250)

    private let driver: GatewayDriver
    private let clients: GatewayClients
    private let tls: TLSHandler
    private var context: ChannelHandlerContext?
    private var state = State.handshaking
    private var place: StrangerPlace
    private var isReading = true
    /// Whether the channel asked to read while that was not allowed.
    private var wantsRead = false
    private var sampledAt: NIODeadline?

    /// The address of the client. A socket that the client has reset does not know it any more.
    private var peer: String?

    init(driver: GatewayDriver, clients: GatewayClients, strangers: Strangers, tls: TLSHandler) {
        self.driver = driver
        self.clients = clients
        self.place = StrangerPlace(among: strangers)
        self.tls = tls
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    /// Closes before the handshake if no client is welcome: one that has written something would take it for sent.
    func channelActive(context: ChannelHandlerContext) {
        self.peer = context.remoteAddress?.ipAddress
        guard self.driver.isOpen(for: self.address(context)) else { return context.close(promise: nil) }
        self.place.begin(.handshaking) { self.makeRoom() }
        context.fireChannelActive()
    }

    /// Gives the place to another client.
    private func makeRoom() {
        guard let context = self.context else { return }
        self.driver.refused(self.address(context), GatewayDriver.tookPlace)
        // The error of TLS that follows is not reported.
        if case .handshaking = self.state { self.state = .closed }
        SocketHandler.close(context.channel)
    }

    private func address(_ context: ChannelHandlerContext) -> String {
        context.remoteAddress?.ipAddress ?? self.peer ?? "a client"
    }

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
        if self.tls.isPeerDoctor { self.driver.checked(self.address(context), .doctor) }
        guard
            let identity = self.clients.identity(of: self.tls.peerCertificate, self.tls.isPeerChainVerified),
            self.driver.isOpen(identity: identity, for: self.address(context))
        else {
            context.close(promise: nil)
            return
        }
        self.place.begin(.silent) { self.makeRoom() }
        self.state = .opening(Early())
        self.setReading(false)
        // Both are gone with the channel.
        let (address, source) = (self.address(context), context.remoteAddress?.bytes ?? [])
        self.driver.open(identity: identity, for: address) { isOurs in
            guard isOurs else {
                self.state = .closed
                self.isReading = true
                return context.close(promise: nil)
            }
            self.opened(context, identity, source)
        }
    }

    /// Goes on when the store has answered. What the client has written is not lost, even if it has gone meanwhile.
    private func opened(_ context: ChannelHandlerContext, _ identity: Int, _ source: [UInt8]) {
        guard case .opening(let early) = self.state else { return }
        let id = self.driver.connected(
            self,
            identity: identity,
            address: source,
            handshake: self.tls.handshakeRoundTrip ?? .zero
        )
        self.state = .open(id)
        self.isReading = true
        self.sample(context)
        for bytes in early.bytes { self.driver.run { $0.received(id, bytes, now: $1) } }
        // Only now: what is read comes after the early bytes. The driver may have stopped the reading meanwhile.
        self.setReading(self.isReading)
        if early.hasEnded { self.end() }
        if !context.channel.isActive { self.leave() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        self.place.end()
        switch self.state {
        case .handshaking, .closed:
            break
        case .opening(var early):
            early.bytes.append(bytes)
            self.state = .opening(early)
        case .open(let id):
            self.sample(context)
            self.driver.run { $0.received(id, bytes, now: $1) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.leave()
        context.fireChannelInactive()
    }

    private func leave() {
        self.place.end()
        switch self.state {
        case .handshaking, .closed: self.state = .closed
        // It ends when the store has answered.
        case .opening: break
        case .open(let id):
            self.state = .closed
            self.driver.disconnected(id)
        }
    }

    /// Says who was refused. After an error, TLS and the channel close by themselves.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // In any case: the next error must not have its words.
        let certificate = self.clients.takeRefused()
        guard case .handshaking = self.state, let error = error as? TLSError else { return }
        self.driver.failed(self.address(context), self.tls, error, certificate)
    }

    private func end() {
        switch self.state {
        case .handshaking, .closed:
            break
        case .opening(var early):
            early.hasEnded = true
            self.state = .opening(early)
        case .open(let id):
            self.driver.run { $0.inputEnded(id, now: $1) }
        }
    }

    func read(context: ChannelHandlerContext) {
        if self.isReading { context.read() } else { self.wantsRead = true }
    }

    /// Measures the round trip, if the last measurement is old.
    private func sample(_ context: ChannelHandlerContext) {
        let now = NIODeadline.now()
        if let sampledAt, now - sampledAt < Self.roundTripLifetime { return }
        self.sampledAt = now
        guard let socket = context.channel as? any SocketOptionProvider, case .open(let id) = self.state else { return }
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
