internal import FerryCore
internal import FerryMachine
internal import FerryOpenSSL
internal import FerryProxy
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOTLS

/// The attempt to make one connection: resolves the host, and tries its addresses until TLS is established on one.
///
/// `@unchecked Sendable`: all members are used on the event loop only.
final class Dial: @unchecked Sendable {
    /// The handlers of one attempt. They stay in the pipeline of the connection.
    struct Stack {
        var transport: TransportHandler?
        var tunnel: ProxyConnectHandler?
        var tls: TLSHandler
    }

    enum Result {
        /// The handshake is complete. Add the connection's handlers at once, so that they miss no bytes.
        case established(any Channel, Stack)
        /// All addresses failed, the peer refused the credentials, or the time ran out.
        case failed(ConnectionEnd)
    }

    private struct Attempt {
        let address: SocketAddress
        var stack: Stack?
        /// Nil once the channel is closed or handed over.
        var channel: (any Channel)?
        var hasTCP = false
        var fault: DialFault?
    }

    private let connector: TLSConnector
    /// Makes a bootstrap for each attempt. One that was kept would keep the initializer, and so the dial, for ever.
    private let bootstrap: () -> ClientBootstrap
    private let eventLoop: any EventLoop
    private let logger: Logger
    private let prepare: (any Channel) throws -> Stack
    /// Nil once it was called, or the dial was cancelled.
    private var completion: ((Result) -> Void)?
    private var race: AddressRace?
    private var attempts: [Attempt] = []
    private var timer: Scheduled<Void>?
    private var deadline: Scheduled<Void>?

    /// - Parameters:
    ///   - prepare: adds the handlers up to TLS to the pipeline of a new channel.
    ///   - completion: called once, on the event loop. Not called if the dial is cancelled.
    init(
        _ connector: TLSConnector,
        _ bootstrap: @escaping () -> ClientBootstrap,
        on eventLoop: any EventLoop,
        logger: Logger,
        prepare: @escaping (any Channel) throws -> Stack,
        completion: @escaping (Result) -> Void
    ) {
        self.connector = connector
        self.bootstrap = bootstrap
        self.eventLoop = eventLoop
        self.logger = logger
        self.prepare = prepare
        self.completion = completion
    }

    func start() {
        self.deadline = self.eventLoop.assumeIsolated().scheduleTask(in: self.connector.connectTimeout) {
            self.expire()
        }
        self.connector.addresses.find(on: self.eventLoop).assumeIsolated().whenComplete { result in
            guard self.completion != nil else { return }
            switch result {
            case .success(let addresses):
                self.attempts = addresses.map { Attempt(address: $0) }
                self.race = AddressRace(count: addresses.count, limit: self.connector.connectTimeout)
                self.proceed()
            case .failure(let error):
                self.complete(.failed(.notConnected(self.connector.unresolved(error))))
            }
        }
    }

    /// Stops without calling `completion`.
    func cancel() {
        self.completion = nil
        self.end()
    }

    /// Fails because the time ran out.
    func expire() {
        for place in self.attempts.indices {
            guard self.attempts[place].fault == nil, self.attempts[place].stack != nil else { continue }
            self.attempts[place].fault = .silent(self.stage(of: self.attempts[place]))
        }
        self.fail()
    }

    // MARK: Attempts

    private func proceed() {
        self.timer?.cancel()
        self.timer = nil
        while self.completion != nil, let action = self.race?.next(now: .now()) {
            switch action {
            case .start(let place):
                self.connect(place)
            case .wait(let deadline):
                guard let deadline else { return }
                self.timer = self.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.proceed() }
                return
            case .giveUp:
                return self.fail()
            }
        }
    }

    private func connect(_ place: Int) {
        let connecting = self.bootstrap()
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.prepare(channel, place) }
            }
            .connect(to: self.attempts[place].address)
        connecting.assumeIsolated().whenComplete { result in
            switch result {
            case .success:
                self.attempts[place].hasTCP = true
                self.race?.connected(place)
                self.proceed()
            case .failure(let error):
                self.failed(place, error)
            }
        }
    }

    private func prepare(_ channel: any Channel, _ place: Int) throws {
        guard self.completion != nil else { throw ChannelError.ioOnClosedChannel }
        self.connector.sockets?.note(channel)
        self.attempts[place].stack = try self.prepare(channel)
        self.attempts[place].channel = channel
        channel.closeFuture.assumeIsolated().whenComplete { _ in self.attempts[place].channel = nil }
        let handler = AttemptHandler(
            established: { self.established(place) },
            failed: { self.failed(place, $0) }
        )
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    private func established(_ place: Int) {
        let attempt = self.attempts[place]
        guard attempt.fault == nil, let channel = attempt.channel, let stack = attempt.stack else { return }
        self.connector.addresses.proved(attempt.address)
        self.attempts[place].channel = nil
        self.complete(.established(channel, stack))
    }

    /// - Parameter reported: the error; nil if the connection was closed without one.
    private func failed(_ place: Int, _ reported: (any Error)?) {
        // The first error is the cause; later errors are its consequences.
        guard self.completion != nil, self.attempts[place].fault == nil else { return }
        let error: (any Error)?
        if let fault = reported as? ProxyError {
            let failure = ProviderError(.connectFailed, fault.description, cause: fault, isLasting: fault.isLasting)
            // The other addresses of the proxy would get the same password, and the proxy may lock its user out.
            if fault.isAboutPassword { return self.complete(.failed(.notConnected(failure))) }
            error = failure
        } else {
            error = (reported as? TLSError)?.ofOtherProtocol ?? reported
        }
        if let refusal = self.connector.refusal(error, version: nil, hasReceived: false) {
            // The other addresses belong to the same service and would refuse too. Repeated refusals would look like an
            // attack.
            return self.complete(.failed(.credentialsRejected(refusal)))
        }
        self.attempts[place].fault = error.map { .failed($0) } ?? .closed
        self.race?.failed(place)
        if self.attempts.count > 1 {
            let address = self.attempts[place].address.inWords
            self.logger.debug("an address failed", metadata: ["apns.address": "\(address)"])
        }
        self.proceed()
    }

    private func stage(of attempt: Attempt) -> DialFault.Stage {
        guard attempt.hasTCP else { return .connecting }
        return attempt.stack?.tunnel?.isWaiting == true ? .asking : .shaking
    }

    // MARK: The end

    private func fail() {
        let faults = self.attempts.compactMap { attempt in attempt.fault.map { (attempt.address, $0) } }
        self.complete(.failed(.notConnected(self.connector.error(faults))))
    }

    private func complete(_ result: Result) {
        guard let completion = self.completion.take() else { return }
        self.end()
        completion(result)
    }

    private func end() {
        self.timer?.cancel()
        self.deadline?.cancel()
        for attempt in self.attempts {
            // After its own error the TLS handler closes the channel itself. Closing here would cut off its alert.
            if case .failed(let error) = attempt.fault, error is TLSError { continue }
            attempt.channel?.close(promise: nil)
        }
    }
}

/// The last handler in the pipeline of an attempt, until the handshake is complete.
private final class AttemptHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let established: () -> Void
    private let failed: ((any Error)?) -> Void

    init(established: @escaping () -> Void, failed: @escaping ((any Error)?) -> Void) {
        self.established = established
        self.failed = failed
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        // `established` adds the connection's handlers behind this one before any more bytes arrive.
        self.established()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.failed(error)
        if !(error is TLSError) { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.failed(nil)
        context.fireChannelInactive()
    }
}
