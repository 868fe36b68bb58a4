internal import FerryCore
internal import NIOCore

extension Gateway {
    /// The result of a reload.
    package struct Reloaded: Sendable {
        package var change: GatewayChange
        /// The number of each upstream of the new configuration, in its order.
        package var upstreams: [Int]
        /// The tables of this process, including the rows that reloads have removed.
        package var tables: GatewayTables
        /// The number of connections that end, because the configuration no longer allows them.
        package var ended: Int
        /// The number of notifications that each removed client has left. These notifications are still delivered.
        package var left: [(client: String, count: Int)]
    }

    /// The tables of this process, including the rows that reloads have removed.
    package var tables: GatewayTables { self.numbers.withLock { $0.tables } }

    /// A configuration that has been checked, with its sockets and providers. Only a gateway that is ending can still
    /// refuse the configuration.
    package struct PreparedReload: Sendable {
        fileprivate let adoption: GatewayNumbers.Adoption
        fileprivate let providers: [Int: GatewayUpstream]
        fileprivate let listening: GatewayListeners.Switch
    }

    /// Takes another configuration, as a whole or not at all. Connections that are still allowed stay open.
    /// Notifications under way keep their old credential.
    ///
    /// The store, the list and ``Configuration/onEvent`` stay as they are. Do not call this method again before it has
    /// returned.
    ///
    /// - Parameter make: makes the provider of an upstream. `upstream` is the index of the upstream in the
    ///   configuration. The gateway calls `make` only for upstreams that are new, that come back, or that have other
    ///   settings.
    /// - Throws: ``ReloadFault``, ``ListenFault``, `TLSError`, or an error of `make`. After an error, nothing has
    ///   changed.
    package func reload(
        _ configuration: Configuration,
        _ make: (_ upstream: Int) throws -> GatewayUpstream
    ) async throws -> Reloaded {
        try await self.commit(await self.prepareReload(configuration, make))
    }

    /// Does the part of ``reload(_:_:)`` that may fail. Call ``commit(_:)`` or ``abandon(_:)`` next.
    ///
    /// - Throws: as ``reload(_:_:)``.
    package func prepareReload(
        _ configuration: Configuration,
        _ make: (_ upstream: Int) throws -> GatewayUpstream
    ) async throws -> PreparedReload {
        let driver = self.driver
        guard try await !driver.eventLoop.submit({ driver.isEnding }).get() else { throw ReloadFault.ending }
        let tables = configuration.tables(upstreams: configuration.upstreams.count)
        let adoption = try self.numbers.withLock { numbers throws(ReloadFault) in try numbers.numbered(tables) }
        let doors = configuration.doors.map { door in
            var door = door
            door.clients = door.clients.renumbered(adoption.clients)
            return door
        }
        var made: [Int: GatewayUpstream] = [:]
        do {
            let known = try await driver.eventLoop.submit { driver.upstreams.count }.get()
            for (place, number) in adoption.upstreams.enumerated()
            where number >= known || adoption.change.replaced.contains(number) {
                made[number] = try make(place)
            }
            let count = max(adoption.upstreams.count, configuration.otherUpstreams)
            let listening = try await self.listeners.prepare(doors, upstreams: count, nil)
            return PreparedReload(adoption: adoption, providers: made, listening: listening)
        } catch {
            for upstream in made.values { _ = await upstream.provider.shutDown(within: .zero) }
            throw error
        }
    }

    /// Takes a prepared configuration.
    ///
    /// - Throws: ``ReloadFault`` if the gateway ends. Then nothing has changed.
    package func commit(_ prepared: PreparedReload) async throws -> Reloaded {
        let (driver, listeners, adoption) = (self.driver, self.listeners, prepared.adoption)
        let switched = try await driver.eventLoop.submit { () -> GatewayDriver.Switched? in
            // A shutdown may have begun meanwhile. The shutdown has closed only the present listeners, so it would
            // leave the new listeners open.
            guard !driver.isEnding, !listeners.isClosed else { return nil }
            return driver.adopt(adoption, prepared.providers) { listeners.commit(prepared.listening) }
        }.get()
        guard let switched else {
            await self.abandon(prepared)
            throw ReloadFault.ending
        }
        self.numbers.withLock { $0.adopt(adoption) }
        let names = adoption.tables.identities
        var change = adoption.change
        change.listeners = prepared.listening.names
        return Reloaded(
            change: change,
            upstreams: adoption.upstreams,
            tables: adoption.tables,
            ended: switched.ended,
            left: switched.left.map { (names[$0.client].label, $0.count) }
        )
    }

    /// Gives up a prepared configuration: closes its new sockets, and ends its new providers.
    package func abandon(_ prepared: PreparedReload) async {
        await self.listeners.abandon(prepared.listening)
        for upstream in prepared.providers.values { _ = await upstream.provider.shutDown(within: .zero) }
    }
}

extension Gateway.Reloaded {
    /// The result for several gateways, with the numbers of their process.
    package init(_ all: [Gateway.Reloaded], _ adoption: GatewayNumbers.Adoption) {
        self.change = adoption.change
        self.upstreams = adoption.upstreams
        self.tables = adoption.tables
        self.ended = all.reduce(0) { $0 + $1.ended }
        var left: [String: Int] = [:]
        for one in all {
            self.change.listeners.added += one.change.listeners.added
            self.change.listeners.removed += one.change.listeners.removed
            self.change.listeners.changed += one.change.listeners.changed
            for (client, count) in one.left { left[client, default: 0] += count }
        }
        self.left = left.sorted { $0.key < $1.key }.map { (client: $0.key, count: $0.value) }
    }
}
