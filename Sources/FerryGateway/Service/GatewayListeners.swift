internal import FerryCore
internal import FerryOpenSSL
internal import FerryServer
internal import NIOCore

/// The error for an address that cannot be bound.
package struct ListenFault: Error {
    package let host: String
    package let port: Int
    package let cause: any Error
}

/// The sockets on which a gateway listens. A reload first prepares a ``Switch``, which may fail. It then carries the
/// switch out as a whole.
///
/// ```
///   prepare: bind the new sockets, make the TLS contexts ──▶ commit: accept on them, close those that are left
///                        └──────────── a failure ──────────▶ abandon
/// ```
final class GatewayListeners: Sendable {
    /// The properties of a door that clients see, without its address and its list of clients.
    struct Face: Hashable, Sendable {
        /// The fingerprints of the certificates that the door shows.
        private let certificates: [[UInt8]]
        /// The fingerprints of the authorities that the door trusts.
        private let authorities: Set<[UInt8]>
        private let profile: TLSProfile
        private let proxies: TrustedProxies
        private let serverNames: Set<String>

        init(_ door: Gateway.Door) {
            self.certificates = door.identity.certificates.map(\.fingerprint)
            self.authorities = door.clients.authorities
            self.profile = door.tlsProfile
            self.proxies = door.proxies
            self.serverNames = Set(door.serverNames.map { $0.lowercased() })
        }
    }

    struct Opened: Sendable {
        let address: ListenGroup.Address
        let listener: Listener
        let doors: OpenDoors
        /// The indices of the address's doors in the configuration.
        var places: [Int]
        var faces: [Face]

        /// Host and port for people.
        var name: String {
            let host = self.listener.host
            return host.contains(":") ? "[\(host)]:\(self.listener.port)" : "\(host):\(self.listener.port)"
        }
    }

    /// The prepared change from the present sockets to those of another configuration. The change can no longer fail.
    struct Switch: Sendable {
        fileprivate var kept: [(opened: Opened, tls: TLSContext, doors: [Gateway.Door])] = []
        fileprivate var changed: [Opened] = []
        fileprivate var added: [(opened: Opened, doors: [Gateway.Door])] = []
        fileprivate var left: [Opened] = []
        fileprivate var limits: [ListenGroup.Service: Int] = [:]

        /// The addresses that are added, removed, or changed for clients.
        var names: GatewayChange.Names {
            var names = GatewayChange.Names()
            names.added = self.added.map { $0.opened.name }
            names.removed = self.left.map(\.name)
            names.changed = self.changed.map(\.name)
            return names
        }
    }

    private let driver: GatewayDriver
    /// The largest number of gateways in the process.
    private let gateways: Int
    private let opened = Locked<[Opened]>([])
    private let closed = Locked(false)
    /// The addresses that could not be opened again, and were reported. An address leaves the set when it is open.
    let troubled = Locked<Set<String>>([])

    init(_ driver: GatewayDriver, gateways: Int) {
        self.driver = driver
        self.gateways = gateways
    }

    var all: [Opened] { self.opened.withLock { $0 } }

    var eventLoop: any EventLoop { self.driver.eventLoop }

    /// Reports an event. Call it on the event loop.
    func report(_ event: GatewayEvent) { self.driver.report(event) }

    /// Tells the driver that the right is back. Call it on the event loop.
    func rightReturned() { self.driver.rightReturned() }

    /// Whether ``close()`` was called.
    var isClosed: Bool { self.closed.withLock { $0 } }

    func first(_ service: ListenGroup.Service) -> Listener? {
        self.all.first { $0.address.service == service }?.listener
    }

    /// The ports of each door, in the order of the present configuration. Without clients, the binary port is 0.
    /// Without a feedback service, the feedback port is nil.
    var doorPorts: [(binary: Int, feedback: Int?)] {
        var ports: [Int: (binary: Int, feedback: Int?)] = [:]
        for opened in self.all {
            for door in opened.places {
                switch opened.address.service {
                case .binary: ports[door, default: (0, nil)].binary = opened.listener.port
                case .feedback: ports[door, default: (0, nil)].feedback = opened.listener.port
                }
            }
        }
        return ports.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Binds the new sockets, and makes all TLS contexts. Nothing is accepted on a new socket before ``commit(_:)``.
    ///
    /// - Parameters:
    ///   - upstreams: the number of upstreams, which need descriptors, too.
    ///   - succession: how to wait for the end of a process that has an address; nil if such an address is an error at
    ///     once.
    /// - Throws: `TLSError` or ``ListenFault``. In both cases, nothing has changed.
    func prepare(_ doors: [Gateway.Door], upstreams: Int, _ succession: Succession?) async throws -> Switch {
        let groups = ListenGroup.groups(of: doors)
        let present = self.all
        var next = Switch()
        next.left = present.filter { opened in !groups.contains { $0.address == opened.address } }
        next.limits = self.limits(groups, upstreams: upstreams)
        do {
            for group in groups {
                let doors = group.doors.map { doors[$0] }
                let tls = try self.context(doors, of: group.address.service)
                if var opened = present.first(where: { $0.address == group.address }) {
                    let faces = doors.map { Face($0) }
                    opened.places = group.doors
                    // The first door is for clients without a known server name. The order of the other doors does not
                    // matter.
                    if opened.faces.first != faces.first || Set(opened.faces) != Set(faces) {
                        next.changed.append(opened)
                    }
                    opened.faces = faces
                    next.kept.append((opened, tls, doors))
                } else {
                    let limit = next.limits[group.address.service] ?? 1
                    let opened = try await self.bind(group, doors, tls, limit: limit, succession)
                    next.added.append((opened, doors))
                }
            }
        } catch {
            await self.abandon(next)
            throw error
        }
        return next
    }

    /// Carries out a switch. Call this method on the event loop.
    func commit(_ next: Switch) {
        for (opened, tls, doors) in next.kept {
            opened.listener.use(tls, doors[0].proxies)
            opened.doors.open(doors)
            opened.listener.limit(to: next.limits[opened.address.service] ?? 1)
        }
        for opened in next.left {
            opened.doors.close()
            opened.listener.close()
        }
        for (opened, doors) in next.added {
            opened.doors.open(doors)
            opened.listener.begin()
        }
        self.opened.withLock { $0 = next.kept.map(\.opened) + next.added.map(\.opened) }
    }

    /// Closes the sockets of a switch that is not carried out.
    func abandon(_ next: Switch) async {
        for (opened, _) in next.added { await opened.listener.stop(within: .seconds(1)) }
    }

    /// Stops accepting. Before that, the connections that the system has queued are accepted, for
    /// ``GatewayBounds/queue`` at most. The queue of a passed socket stays for the next process.
    func close() async {
        self.closed.withLock { $0 = true }
        await withTaskGroup { group in
            for opened in self.all {
                group.addTask { await opened.listener.closeAfterQueue(within: GatewayBounds.queue) }
            }
        }
    }

    /// Closes the listeners and all connections, each listener within 1 s.
    func stop() async { for opened in self.all { await opened.listener.stop(within: .seconds(1)) } }

    // MARK: One socket

    private func limits(_ groups: [ListenGroup], upstreams: Int) -> [ListenGroup.Service: Int] {
        let feedback = groups.count { $0.address.service == .feedback }
        // Gateways that share a process also share one feedback service, which may belong to another gateway.
        let hasFeedback = feedback > 0 || self.gateways > 1
        let room = GatewayRoom(upstreams: upstreams, hasFeedback: hasFeedback, gateways: self.gateways)
        let limit = ServerLimits().connections
        return [
            .binary: max(1, min(limit, room.clients / max(groups.count - feedback, 1))),
            .feedback: max(1, min(limit, room.readers / max(feedback, 1))),
        ]
    }

    /// Returns the context of the first door. It contains the contexts of the other doors, by server name.
    private func context(_ doors: [Gateway.Door], of service: ListenGroup.Service) throws -> TLSContext {
        var first = self.server(doors[0], service)
        for door in doors.dropFirst() {
            let context = try TLSContext(server: self.server(door, service))
            for name in door.serverNames { first.named[name.lowercased()] = context }
        }
        return try TLSContext(server: first)
    }

    private func server(_ door: Gateway.Door, _ service: ListenGroup.Service) -> TLSContext.Server {
        let driver = self.driver
        let certificates =
            switch service {
            case .binary: door.clients.certificates { driver.admits($0) }
            // The feedback service accepts readers even while the gateway accepts no clients.
            case .feedback: door.clients.certificates()
            }
        return TLSContext.Server(
            identity: door.identity,
            profile: door.tlsProfile,
            maximum: .tls12,
            clientCertificates: certificates
        )
    }

    private func bind(
        _ group: ListenGroup,
        _ all: [Gateway.Door],
        _ tls: TLSContext,
        limit: Int,
        _ succession: Succession?
    ) async throws -> Opened {
        let (door, faces) = (all[0], all.map { Face($0) })
        let (driver, eventLoop, doors) = (self.driver, self.driver.eventLoop, OpenDoors())
        let strangers = Strangers(on: eventLoop)
        var listening = Listener.Configuration()
        listening.isPaused = true
        listening.tls = tls
        listening.proxies = door.proxies
        listening.limits.connections = limit
        listening.onWait = { strangers.placeIsWanted($0) }
        listening.host = door.host
        let isFeedback: Bool
        switch group.address.service {
        case .binary:
            isFeedback = false
            listening.port = door.port
            listening.passed = door.passed
        case .feedback:
            isFeedback = true
            listening.port = door.feedbackPort ?? 0
            listening.passed = door.passedFeedback
        }
        let listener = try await Self.bind(listening, succession, on: eventLoop) { connection in
            connection.tls.map { tls -> any ChannelHandler in
                isFeedback
                    ? GatewayFeedbackHandler(driver: driver, doors: doors, strangers: strangers, tls: tls)
                    : GatewayHandler(driver: driver, doors: doors, strangers: strangers, tls: tls)
            }
        }
        return Opened(address: group.address, listener: listener, doors: doors, places: group.doors, faces: faces)
    }

    /// Binds an address, or takes a passed socket. With a succession, waits while another process has the address.
    private static func bind(
        _ configuration: Listener.Configuration,
        _ succession: Succession?,
        on eventLoop: any EventLoop,
        accept: @escaping @Sendable (AcceptedConnection) throws -> (any ChannelHandler)?
    ) async throws -> Listener {
        do {
            guard let succession, configuration.passed == nil else {
                return try await Listener.bind(configuration, on: eventLoop, accept: accept)
            }
            let address = Succession.Thing.address(host: configuration.host, port: configuration.port)
            return try await succession.take(address, isTaken: Listener.isTaken) {
                try await Listener.bind(configuration, on: eventLoop, accept: accept)
            }
        } catch {
            throw ListenFault(host: configuration.host, port: configuration.port, cause: error)
        }
    }
}
