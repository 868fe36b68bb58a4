internal import FerryAdmin
internal import FerryCore
internal import FerryServer
internal import FerryTerminal

/// The admin service of a server of this process.
struct AdminService {
    private let server: AdminServer
    private let ticking: Task<Void, Never>
    /// The bound port; nil without a port.
    var port: Int? { self.server.port }

    /// Begins to answer. Without a port, returns nil if there is no socket, or if a socket that the program chose
    /// fails.
    ///
    /// - Parameters:
    ///   - routes: the routes that every server has.
    ///   - answer: makes the answer to a request that was let in.
    /// - Throws: ``CommandFailure`` when a socket or port that was asked for cannot be had.
    static func start(
        _ plan: AdminPlan,
        _ routes: StatusRoutes,
        answer: @escaping @Sendable (AdminRequest) async -> AdminAnswer
    ) async throws(CommandFailure) -> AdminService? {
        for warning in plan.warnings { MessageWriter.shared.write(.warning(ServerLogEvent.adminOpen, warning)) }
        guard plan.socket.path != nil || plan.port != nil else { return nil }
        guard let server = try await Self.listen(plan, answer) else { return nil }
        return AdminService(server: server, ticking: Task { await routes.run() })
    }

    private static func listen(
        _ plan: AdminPlan,
        _ answer: @escaping @Sendable (AdminRequest) async -> AdminAnswer
    ) async throws(CommandFailure) -> AdminServer? {
        do {
            return try await AdminServer.start(.init(socketPath: plan.socket.path, port: plan.port), answer: answer)
        } catch {
            let reason = Sentence.of(error)
            guard case .chosen(let path) = plan.socket else { throw Self.failure(plan.socket.path, plan.port, reason) }
            // A socket that the program chose fails no start. If the start with the port alone fails, too, the port
            // is the cause.
            let server = try await Self.listenOnPort(plan.port, answer)
            MessageWriter.shared.write(
                .warning(
                    ServerLogEvent.adminFailed,
                    "the admin socket \(path) cannot be made: \(reason)",
                    [.file: .text(path), .reason: .text(reason)]
                )
            )
            return server
        }
    }

    private static func listenOnPort(
        _ port: AdminServer.Port?,
        _ answer: @escaping @Sendable (AdminRequest) async -> AdminAnswer
    ) async throws(CommandFailure) -> AdminServer? {
        guard let port else { return nil }
        do {
            return try await AdminServer.start(.init(port: port), answer: answer)
        } catch {
            throw Self.failure(nil, port, Sentence.of(error))
        }
    }

    /// Prepares another port; see ``AdminServer/prepare(_:)``.
    ///
    /// - Throws: ``CommandFailure`` when the port cannot be bound. Nothing has changed then.
    func prepare(_ plan: AdminPlan) async throws(CommandFailure) -> AdminServer.PortSwitch {
        do {
            return try await self.server.prepare(plan.port)
        } catch {
            // An address such as 0.0.0.0 covers all other addresses, so this process may have the port itself.
            let isOwn = Listener.isTaken(error) && plan.port?.number == self.port
            throw Self.failure(nil, plan.port, Sentence.of(error) + (isOwn ? Self.ownPort : ""))
        }
    }

    func commit(_ port: AdminServer.PortSwitch) async { await self.server.commit(port) }

    func abandon(_ port: AdminServer.PortSwitch) async { await self.server.abandon(port) }

    /// The end of the sentence about an address that a reload cannot bind, if this process has its port.
    static let ownPort =
        ". This process has the port at another address. If no other process has it at this one, restart this process for "
        + "the change: a reload cannot change the address of a port in use"

    private static func failure(_ path: String?, _ port: AdminServer.Port?, _ reason: String) -> CommandFailure {
        // What was given as the path may be a secret.
        let socket = path.map { FileName($0).words(option: "the admin socket") }
        let places = [socket, port.map { Endpoint.text($0.host, $0.number) }].compactMap { $0 }
        return .usage("admin: \(places.joined(separator: " or ")) cannot be listened on: \(reason)")
    }

    func stop() async {
        self.ticking.cancel()
        await self.server.stop()
    }
}
