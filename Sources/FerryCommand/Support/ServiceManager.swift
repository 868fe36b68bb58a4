internal import FerryPlatform
internal import FerryServer
internal import FerryTerminal
internal import NIOCore

/// The service manager that started this program, such as systemd. Without one, nothing here does anything.
struct ServiceManager {
    private let environment: ServiceEnvironment
    private let notifier: ServiceNotifier?
    private let say: @Sendable (LogMessage) -> Void

    /// - Parameters:
    ///   - names: the sockets that this program takes.
    ///   - say: receives messages for people.
    /// - Throws: ``CommandFailure`` when the environment is malformed, or has a socket with another name.
    init(
        sockets names: [String],
        variables: [String: String] = ProcessInfo.processInfo.environment,
        say: @escaping @Sendable (LogMessage) -> Void = { MessageWriter.shared.write($0) }
    ) throws(CommandFailure) {
        let environment = try Self.checked { () throws(ServiceFault) in
            try ServiceEnvironment(variables, process: getpid(), names: names)
        }
        self.environment = environment
        self.notifier = try Self.checked { () throws(ServiceFault) -> ServiceNotifier? in
            guard let socket = environment.notifySocket else { return nil }
            return try ServiceNotifier(to: socket)
        }
        self.say = say
    }

    private static func checked<Result>(_ body: () throws(ServiceFault) -> Result) throws(CommandFailure) -> Result {
        do throws(ServiceFault) {
            return try body()
        } catch {
            throw .usage(error.description)
        }
    }

    /// Returns the passed socket with this name; nil if the program has to bind an address.
    func socket(_ name: String) throws(CommandFailure) -> PassedSocket? {
        guard let descriptor = self.environment.sockets[name] else { return nil }
        let socket = try Self.checked { () throws(ServiceFault) in try PassedSocket(descriptor, name: name) }
        let place = socket.port.map { Endpoint.text(socket.host, $0) } ?? socket.host
        self.say(
            LogMessage(
                ServerLogEvent.socketPassed,
                .info,
                "the service manager passes the socket '\(name)', which listens on \(place)",
                [.address: .text(place)]
            )
        )
        return socket
    }

    /// The take-over from a predecessor that ends.
    var succession: Succession {
        let (say, notifier) = (self.say, self.notifier)
        return Succession { thing in
            let words =
                switch thing {
                case .store: "another process has the store"
                case .address(let host, let port): "another process listens on \(Endpoint.text(host, port))"
                }
            let seconds = Int(SuccessionWait.limit.components.seconds)
            say(
                LogMessage(
                    ServerLogEvent.waitsForPredecessor,
                    .notice,
                    "\(words); waits \(seconds) s for its end",
                    [.seconds: .number(seconds)]
                )
            )
            notifier?.send(.status("Waits for its predecessor: \(words)."))
        }
    }

    /// Says that the program does its work, and waits for a signal that ends it. Meanwhile the manager watches an
    /// event loop, if it has set a watchdog.
    ///
    /// - Parameters:
    ///   - status: one sentence, which the manager shows.
    ///   - hangUpEnds: whether SIGHUP ends the program, too.
    ///   - announce: tells other processes that the program listens.
    func waitForEnd(
        _ status: String,
        on eventLoop: any EventLoop,
        hangUpEnds: Bool = true,
        announce: () throws -> Void
    ) async throws {
        var watchdog: Watchdog?
        // The manager may send a signal as soon as it hears that the program is ready.
        try await Signals.wait(hangUpEnds: hangUpEnds) {
            try announce()
            watchdog = await self.ready(status, on: eventLoop)
        }
        watchdog?.stop()
        _ = await self.notifier?.deliver(.stopping(status: "Ends."))
    }

    /// Says that the program reads its configuration again. Call ``reloaded(_:)`` afterwards, also if nothing changed:
    /// the manager waits for it.
    func reloading() async { _ = await self.notifier?.deliver(.reloadingNow) }

    /// Says that the program does its work again.
    func reloaded(_ status: String) async { _ = await self.notifier?.deliver(.ready(status: status)) }

    private func ready(_ status: String, on eventLoop: any EventLoop) async -> Watchdog? {
        guard let notifier else { return nil }
        if let reason = await notifier.deliver(.ready(status: status)) {
            self.say(
                .warning(
                    ServerLogEvent.noticesRefused,
                    "the service manager does not take notices (NOTIFY_SOCKET): \(reason)",
                    [.reason: .text("\(reason)")]
                )
            )
        }
        return self.environment.watchdog.map { Watchdog(of: eventLoop, limit: $0, notifier) }
    }
}
