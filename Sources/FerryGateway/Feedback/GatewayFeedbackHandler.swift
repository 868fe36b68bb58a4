internal import FerryBinary
internal import FerryCore
internal import FerryOpenSSL
internal import FerryServer
internal import NIOCore
internal import NIOTLS

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The end of a feedback connection's pipeline: writes the client's rows, ends them with close_notify after a pause, as
/// ``FeedbackEnding`` says, and closes when the client has ended its side.
///
/// The rows are gone only when the client has ended its side, with close_notify or by closing its socket, its system has
/// acknowledged every byte, and no reset has come. A reset comes when a program closes a socket that it has not read to the
/// end.
final class GatewayFeedbackHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case handshaking
        /// The handshake is over, or the place was given to another client. A later error is not named.
        case known
    }

    private let driver: GatewayDriver
    private let clients: GatewayClients
    private let tls: TLSHandler
    private var place: StrangerPlace
    private var claim: FeedbackRows.Claim?
    private var state = State.handshaking
    private var isWritten = false
    private var ending = FeedbackEnding(rows: 0)
    private var timer: Scheduled<Void>?
    private var deadline: Scheduled<Void>?
    /// The address of the reader. A socket that the reader has reset does not know it any more.
    private var peer: String?

    init(driver: GatewayDriver, clients: GatewayClients, strangers: Strangers, tls: TLSHandler) {
        self.driver = driver
        self.clients = clients
        self.place = StrangerPlace(among: strangers)
        self.tls = tls
    }

    func channelActive(context: ChannelHandlerContext) {
        self.peer = context.remoteAddress?.ipAddress
        self.place.begin(.handshaking) { self.makeRoom(context) }
        context.fireChannelActive()
    }

    /// Gives the place to another client. The list of this one stays, or was empty.
    private func makeRoom(_ context: ChannelHandlerContext) {
        self.driver.refused(self.address(context), GatewayDriver.tookPlace)
        // The error of TLS that follows would name a check, which it is not.
        self.state = .known
        SocketHandler.close(context.channel)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted: self.begin(context)
        case ChannelEvent.inputClosed: self.end(context)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    private func begin(_ context: ChannelHandlerContext) {
        self.state = .known
        let identity = self.clients.identity(of: self.tls.peerCertificate, self.tls.isPeerChainVerified)
        guard let identity else { return context.close(promise: nil) }
        self.place.begin(.silent) { self.makeRoom(context) }
        self.driver.claimFeedback(of: identity, for: self.address(context)) { claim in
            guard let claim else { return context.close(promise: nil) }
            // A reader that has gone meanwhile gets nothing.
            guard context.channel.isActive else { return self.driver.giveFeedbackBack(claim) }
            self.claim = claim
            self.write(claim, context)
        }
    }

    private func write(_ claim: FeedbackRows.Claim, _ context: ChannelHandlerContext) {
        var bytes = context.channel.allocator.buffer(capacity: claim.rows.count * 38)
        for row in claim.rows {
            let time = Date(timeIntervalSince1970: Double(row.since))
            FeedbackTuple(time: time, token: DeviceToken(unchecked: row.token)).write(to: &bytes)
        }
        self.ending = FeedbackEnding(rows: claim.rows.count)
        if claim.rows.isEmpty {
            self.sendEnd(context)
        } else {
            // A reader of rows has a deadline of its own.
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
            let action = self.ending.looked(info.hasPeerEverything, roundTrip: info.roundTrip, now: .now())
            self.carryOut(action, context)
        }
    }

    /// Sends close_notify, and keeps the socket's output open: after both ends, the system does not tell what was
    /// acknowledged.
    private func sendEnd(_ context: ChannelHandlerContext) {
        context.triggerUserOutboundEvent(TLSHandler.OutboundEvent.closeNotify, promise: nil)
    }

    /// The protocol has nothing to read here.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    private func end(_ context: ChannelHandlerContext) {
        if let socket = context.channel as? any SocketOptionProvider, self.isWritten {
            TCPInfo.get(socket).assumeIsolated().whenSuccess { info in
                if let claim = self.claim, info.hasPeerEverything { self.driver.readFeedback(claim) }
            }
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.place.end()
        self.timer?.cancel()
        self.deadline?.cancel()
        // Does nothing for a list that was read.
        if let claim { self.driver.giveFeedbackBack(claim) }
        context.fireChannelInactive()
    }

    /// Says who was refused. After an error, TLS and the channel close by themselves.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let certificate = self.clients.takeRefused()
        guard case .handshaking = self.state, let error = error as? TLSError else { return }
        self.driver.failed(self.address(context), self.tls, error, certificate)
    }

    private func address(_ context: ChannelHandlerContext) -> String {
        context.remoteAddress?.ipAddress ?? self.peer ?? "a client"
    }
}
