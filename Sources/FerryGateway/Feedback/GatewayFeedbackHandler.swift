internal import FerryBinary
internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryServer
internal import NIOCore
internal import NIOTLS

/// The last handler of a feedback connection. It writes the client's rows, and sends close_notify after the pause of
/// ``FeedbackEnding``. It closes the connection when the client has ended its side.
///
/// The rows are removed only under three conditions: the client has ended its side, with close_notify or by closing
/// its socket; the client's system has acknowledged every byte; and no reset has come. The system sends a reset if a
/// program closes a socket before it has read every byte. Behind a proxy, only close_notify counts as the end of the
/// client's side. The acknowledgements come from the proxy's system, and a proxy may end the connection for any
/// reason.
final class GatewayFeedbackHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case handshaking
        /// The handshake is over, or the gateway closed the connection to make room for another connection. A later
        /// error is not reported.
        case known
    }

    private let driver: GatewayDriver
    private let doors: OpenDoors
    private let tls: TLSHandler
    private var place: StrangerPlace
    private var list: (any FeedbackClaim)?
    private var state = State.handshaking
    private var isWritten = false
    private var ending = FeedbackEnding(rows: 0)
    private var timer: Scheduled<Void>?
    private var deadline: Scheduled<Void>?
    private var source = ConnectionSource()
    /// Whether the reader has ended its side without close_notify.
    private var isCutShort = false

    init(driver: GatewayDriver, doors: OpenDoors, strangers: Strangers, tls: TLSHandler) {
        self.driver = driver
        self.doors = doors
        self.place = StrangerPlace(among: strangers)
        self.tls = tls
    }

    func handlerAdded(context: ChannelHandlerContext) { self.source.note(context) }

    func channelActive(context: ChannelHandlerContext) {
        self.source.note(context)
        self.place.begin(.handshaking) { self.makeRoom(context) }
        context.fireChannelActive()
    }

    /// Closes the connection, so that another connection can take its place. The rows of this client stay listed.
    private func makeRoom(_ context: ChannelHandlerContext) {
        self.driver.refused(self.source.name, .place, GatewayDriver.tookPlace)
        // In this state, the TLS error that follows the close is not reported. The report would look like a check of
        // the port.
        self.state = .known
        SocketHandler.close(context.channel)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted: self.begin(context)
        case ChannelEvent.inputClosed: self.end(context)
        case let connection as ProxiedConnection: self.source.note(connection)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    private func begin(_ context: ChannelHandlerContext) {
        self.state = .known
        let identity = self.doors.clients(for: self.tls.requestedServerName)?
            .identity(of: self.tls.peerCertificate, self.tls.isPeerChainVerified)
        guard let identity else {
            // The handshake has accepted this client, so a reload has removed the client meanwhile.
            self.driver.refused(self.source.name, .removed)
            return context.close(promise: nil)
        }
        self.place.begin(.silent) { self.makeRoom(context) }
        self.driver.takeFeedback(of: identity, for: self.source.name) { list in
            guard let list else { return context.close(promise: nil) }
            // If the reader has gone meanwhile, the rows are listed again.
            guard context.channel.isActive else { return list.giveBack() }
            self.list = list
            self.write(list.rows, context)
        }
    }

    private func write(_ rows: [FeedbackRows.Row], _ context: ChannelHandlerContext) {
        var bytes = context.channel.allocator.buffer(capacity: rows.count * 38)
        for row in rows {
            let time = Date(timeIntervalSince1970: Double(row.since))
            FeedbackTuple(time: time, token: DeviceToken(unchecked: row.token)).write(to: &bytes)
        }
        self.ending = FeedbackEnding(rows: rows.count)
        if rows.isEmpty {
            self.sendEnd(context)
        } else {
            // A reader that gets rows has ``FeedbackRows/claimTime`` to read them. So the reader's wait among the
            // silent connections ends here.
            self.place.end()
            context.writeAndFlush(self.wrapOutboundOut(bytes)).assumeIsolated().whenSuccess {
                self.isWritten = true
                self.carryOut(self.ending.written(now: .now()), context)
            }
        }
        self.deadline = context.eventLoop.assumeIsolated().scheduleTask(in: FeedbackRows.claimTime) {
            context.close(promise: nil)
        }
    }

    private func carryOut(_ action: FeedbackEnding.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .none: break
        case .look(let at): self.schedule(at, context) { self.look(context) }
        case .wait(let until):
            self.schedule(until, context) { self.carryOut(self.ending.timePassed(now: .now()), context) }
        case .end: self.sendEnd(context)
        }
    }

    private func schedule(_ at: NIODeadline, _ context: ChannelHandlerContext, _ body: @escaping () -> Void) {
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: at) {
            guard context.channel.isActive else { return }
            body()
        }
    }

    private func look(_ context: ChannelHandlerContext) {
        guard let socket = context.channel as? any SocketOptionProvider else { return self.sendEnd(context) }
        TCPInfo.get(socket).assumeIsolated().whenSuccess { info in
            let roundTrip = self.source.roundTrip(info.roundTrip)
            let action = self.ending.looked(info.hasPeerEverything, roundTrip: roundTrip, now: .now())
            self.carryOut(action, context)
        }
    }

    /// Sends close_notify, but keeps the socket's output open. When both directions are closed, the system no longer
    /// reports which bytes were acknowledged.
    private func sendEnd(_ context: ChannelHandlerContext) {
        context.triggerUserOutboundEvent(TLSHandler.OutboundEvent.closeNotify, promise: nil)
    }

    /// Drops the bytes, because a reader sends none in this protocol.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    private func end(_ context: ChannelHandlerContext) {
        // A proxy acknowledges bytes that the reader may never get. Only close_notify comes from the reader itself.
        let mayBeRead = self.isWritten && !(self.source.isProxied && self.isCutShort)
        if mayBeRead, let socket = context.channel as? any SocketOptionProvider {
            TCPInfo.get(socket).assumeIsolated().whenSuccess { info in
                if info.hasPeerEverything { self.list?.read() }
            }
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.place.end()
        self.timer?.cancel()
        self.deadline?.cancel()
        // If the rows were read, this call has no effect.
        self.list?.giveBack()
        context.fireChannelInactive()
    }

    /// Reports a failed handshake, or a faulty header of a proxy. TLS and the channel close by themselves after an
    /// error.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let certificate = self.doors.clients(for: self.tls.requestedServerName)?.takeRefused()
        if let fault = error as? ProxyHeaderFault { self.driver.refused(self.source.name, fault) }
        if (error as? TLSError)?.code == .uncleanShutdown { self.isCutShort = true }
        guard case .handshaking = self.state, let error = error as? TLSError else { return }
        self.driver.failed(self.source.name, self.tls, error, certificate)
    }
}
