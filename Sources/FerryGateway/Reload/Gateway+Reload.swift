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
        /// The number of notifications that each removed client has left. They are still delivered.
        package var left: [(client: String, count: Int)]
    }

    /// The tables of this process, including the rows that reloads have removed.
    package var tables: GatewayTables { self.numbers.withLock { $0.tables } }

    /// Takes another configuration, as a whole or not at all. Connections that are still allowed stay open, and
    /// notifications under way keep their old credential.
    ///
    /// The store, the list and ``Configuration/onEvent`` stay as they are. Do not call this again before it has returned.
    ///
    /// - Parameter make: makes the provider of an upstream, by its place in the configuration. It is called only for
    ///   upstreams that are new or have other settings.
    /// - Throws: ``ReloadFault``, ``ListenFault``, `TLSError`, or an error of `make`. Then nothing has changed.
    package func reload(
        _ configuration: Configuration,
        _ make: (_ upstream: Int) throws -> GatewayUpstream
    ) async throws -> Reloaded {
        let driver = self.driver
        guard try await !driver.eventLoop.submit({ driver.isEnding }).get() else {
            throw ReloadFault("The gateway ends.")
        }
        let tables = configuration.tables(upstreams: configuration.upstreams.count)
        let adoption = try self.numbers.withLock { numbers throws(ReloadFault) in try numbers.numbered(tables) }
        let doors = configuration.doors.map { door in
            var door = door
            door.clients = door.clients.renumbered(adoption.clients)
            return door
        }
        var made: [Int: GatewayUpstream] = [:]
        let listening: GatewayListeners.Switch
        do {
            let known = try await driver.eventLoop.submit { driver.upstreams.count }.get()
            for (place, number) in adoption.upstreams.enumerated()
            where number >= known || adoption.change.replaced.contains(number) {
                made[number] = try make(place)
            }
            listening = try await self.listeners.prepare(doors, upstreams: adoption.upstreams.count, nil)
        } catch {
            for upstream in made.values { _ = await upstream.provider.shutDown(within: .zero) }
            throw error
        }
        let (listeners, providers) = (self.listeners, made)
        let switched = try await driver.eventLoop.submit { () -> GatewayDriver.Switched? in
            // A shutdown may have begun meanwhile. It has closed only the listeners that it knew.
            guard !driver.isEnding else { return nil }
            return driver.adopt(adoption, providers) { listeners.commit(listening) }
        }.get()
        guard let switched else {
            await self.listeners.abandon(listening)
            for upstream in made.values { _ = await upstream.provider.shutDown(within: .zero) }
            throw ReloadFault("The gateway ends.")
        }
        self.numbers.withLock { $0.adopt(adoption) }
        let names = adoption.tables.identities
        var change = adoption.change
        change.listeners = listening.names
        return Reloaded(
            change: change,
            upstreams: adoption.upstreams,
            tables: adoption.tables,
            ended: switched.ended,
            left: switched.left.map { (names[$0.client].label, $0.count) }
        )
    }
}
