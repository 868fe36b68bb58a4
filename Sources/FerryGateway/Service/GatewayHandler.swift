internal import FerryBinary
internal import FerryCore
internal import FerryOpenSSL
internal import FerryServer
internal import NIOCore
internal import NIOTLS

/// The last handler of a client connection. It passes bytes to the ``GatewayDriver``, and carries out the driver's
/// actions.
final class GatewayHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case handshaking
        case open(ConnectionID)
        case closed
    }

    /// How long a measured round trip is used.
    private static let roundTripLifetime: TimeAmount = .milliseconds(250)

    private let driver: GatewayDriver
    private let doors: OpenDoors
    private let tls: TLSHandler
    private var context: ChannelHandlerContext?
    private var state = State.handshaking
    private var place: StrangerPlace
    private var isReading = true
    /// Whether the channel asked to read while reading was stopped.
    private var wantsRead = false
    private var sampledAt: NIODeadline?
    /// The ``GatewayClients/Sign`` and the server name that the client has shown. A reload judges both again.
    private var known: (shown: GatewayClients.Shown, serverName: String?)?
    /// Whether the driver counts this connection among the handshakes that have not ended.
    private var isAwaited = false

    private var source = ConnectionSource()

    init(driver: GatewayDriver, doors: OpenDoors, strangers: Strangers, tls: TLSHandler) {
        self.driver = driver
        self.doors = doors
        self.place = StrangerPlace(among: strangers)
        self.tls = tls
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.source.note(context)
        // The header of a proxy may not have come yet. The shutdown waits for such a connection, too.
        self.isAwaited = true
        self.driver.handshakeBegan()
    }

    /// Closes the connection before the handshake if no client is accepted, or if the only client of the address is not
    /// accepted. After the handshake, the client might have written a notification, and would take it for sent.
    func channelActive(context: ChannelHandlerContext) {
        self.source.note(context)
        let address = self.source.name
        let isOpen =
            self.doors.onlyIdentity.map { self.driver.isOpen(identity: $0, for: address) }
            ?? self.driver.isOpen(for: address)
        guard isOpen else { return context.close(promise: nil) }
        self.place.begin(.handshaking) { self.makeRoom() }
        context.fireChannelActive()
    }

    /// Closes the connection, so that another connection can take its place.
    private func makeRoom() {
        guard let context = self.context else { return }
        self.driver.refused(self.source.name, .place, GatewayDriver.tookPlace)
        // In the state `closed`, the TLS error that follows the close is not reported.
        if case .handshaking = self.state { self.state = .closed }
        SocketHandler.close(context.channel)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.endHandshake()
    }

    // MARK: From the client

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted:
            self.begin(context)
            self.endHandshake()
        case ChannelEvent.inputClosed:
            self.end()
        case let connection as ProxiedConnection:
            self.source.note(connection)
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    private func endHandshake() {
        guard self.isAwaited else { return }
        self.isAwaited = false
        self.driver.handshakeEnded()
    }

    private func begin(_ context: ChannelHandlerContext) {
        if self.tls.isPeerDoctor { self.driver.checked(self.source.name, .doctor) }
        let name = self.tls.requestedServerName
        let shown = self.doors.clients(for: name)?.shown(self.tls.peerCertificate, self.tls.isPeerChainVerified)
        self.known = shown.map { ($0, name) }
        guard let identity = self.allowedIdentity, self.isServed(identity, by: name) else {
            // The handshake has accepted this client. If the client has no identity, a reload has removed the client
            // meanwhile.
            if self.allowedIdentity == nil { self.driver.refused(self.source.name, .removed) }
            context.close(promise: nil)
            return
        }
        self.place.begin(.silent) { self.makeRoom() }
        let id = self.driver.connected(
            self,
            identity: identity,
            address: self.source.bytes,
            // Connections of ferry doctor do not count, because it tries each shard and sends nothing.
            seenAt: self.tls.isPeerDoctor ? [] : self.source.clientBytes,
            handshake: self.source.roundTrip(self.tls.handshakeRoundTrip ?? .zero)
        )
        self.state = .open(id)
        self.sample(context)
    }

    /// Whether a known client is served after its handshake.
    ///
    /// If the handshake has judged the client, only the loss of the store or the end of the gateway refuses the client
    /// here. The client may have written notifications, and would take them for sent. If the door takes anyone, the
    /// handshake has not judged the client, so this method judges it.
    private func isServed(_ identity: Int, by serverName: String?) -> Bool {
        guard self.doors.clients(for: serverName)?.takesAnyone ?? true else {
            return self.driver.serves(self.source.name)
        }
        return self.driver.isOpen(identity: identity, for: self.source.name)
    }

    /// The number of the client by the present configuration; nil if the client is not allowed.
    var allowedIdentity: Int? {
        guard let known else { return nil }
        return self.doors.clients(for: known.serverName)?.identity(of: known.shown)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        self.place.end()
        switch self.state {
        case .handshaking, .closed:
            break
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
        self.endHandshake()
        switch self.state {
        case .handshaking, .closed: self.state = .closed
        case .open(let id):
            self.state = .closed
            self.driver.disconnected(id)
        }
    }

    /// Reports the refused client. TLS and the channel close by themselves after an error.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Every error removes the sentence about the refused certificate. Otherwise a later error would be reported
        // with this sentence.
        let certificate = self.doors.clients(for: self.tls.requestedServerName)?.takeRefused()
        let postponed = self.driver.takePostponed()
        if let fault = error as? ProxyHeaderFault { self.driver.refused(self.source.name, fault) }
        guard case .handshaking = self.state, let error = error as? TLSError else { return }
        if let postponed, !self.driver.isOpen(identity: postponed, for: self.source.name) {
            if self.tls.isPeerDoctor { self.driver.checked(self.source.name, .doctor) }
            // The shutdown need not wait until the client closes.
            return self.endHandshake()
        }
        self.driver.failed(self.source.name, self.tls, error, certificate)
    }

    private func end() {
        switch self.state {
        case .handshaking, .closed:
            break
        case .open(let id):
            self.driver.run { $0.inputEnded(id, now: $1) }
        }
    }

    func read(context: ChannelHandlerContext) {
        if self.isReading { context.read() } else { self.wantsRead = true }
    }

    /// Measures the round trip if the last measurement is too old.
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
