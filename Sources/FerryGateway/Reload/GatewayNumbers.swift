/// The numbers that this process has given to clients, upstreams and routes.
///
/// A reload gives the next number to each new name. A name that is missing in the new configuration keeps its number.
/// While the process lives, no number is given to another name. So counts never go back, and a late outcome, a
/// waiting line of the list or a copy never meets another client. A name that comes back gets its old number, its
/// counts and its sending habits again.
///
/// ```
///   first configuration    shop 0   news 1
///   without news           shop 0   news 1 (left)
///   with news and blog     shop 0   news 1          blog 2
/// ```
///
/// Bounds: a reload is refused if more numbers than ``Limits`` would belong to missing names.
package struct GatewayNumbers: Sendable {
    /// The largest numbers of missing names: names that the configuration no longer has.
    package struct Limits: Sendable {
        package var clients = 10_000
        package var upstreams = 64
        package var routes = 10_000

        package init() {}
    }

    /// A configuration with the numbers of this process.
    package struct Adoption: Sendable {
        /// The tables with all numbers, including those of missing names.
        package var tables: GatewayTables
        /// The number of each client of the configuration, in its order.
        package var clients: [Int]
        /// The number of each upstream of the configuration, in its order.
        package var upstreams: [Int]
        package var change: GatewayChange
    }

    private struct RouteName: Hashable {
        var upstream: Int
        var topic: [UInt8]
        var key: [UInt8]
    }

    /// The tables of the present configuration, with the numbers of missing names.
    package private(set) var tables: GatewayTables
    private var routes: [RouteName: Int] = [:]
    private let limits: Limits

    /// Takes the first configuration. The indices in its tables are the numbers.
    package init(_ tables: GatewayTables, limits: Limits = Limits()) {
        self.tables = tables
        self.limits = limits
        for (number, route) in tables.routes.enumerated() { self.routes[Self.name(of: route)] = number }
    }

    /// Returns a configuration with the numbers of this process. Call ``adopt(_:)`` when the gateway has switched to
    /// this configuration.
    ///
    /// - Throws: ``ReloadFault`` if too many numbers would belong to missing names.
    package func numbered(_ new: GatewayTables) throws(ReloadFault) -> Adoption {
        var next = self
        let adoption = next.take(new)
        let left = (
            clients: next.tables.identities.count - new.identities.count,
            upstreams: next.tables.upstreams.count - new.upstreams.count,
            routes: next.tables.routes.count - new.routes.count
        )
        guard left.clients <= self.limits.clients, left.upstreams <= self.limits.upstreams,
            left.routes <= self.limits.routes
        else {
            throw ReloadFault(
                "Reloads have left \(left.clients) clients, \(left.upstreams) upstreams and \(left.routes) topics with "
                    + "their keys behind, which this process still counts. Restart the gateway for this change."
            )
        }
        return adoption
    }

    /// Makes the result of ``numbered(_:)`` the present configuration.
    package mutating func adopt(_ adoption: Adoption) {
        let limits = self.limits
        self = GatewayNumbers(adoption.tables, limits: limits)
    }

    private static func name(of route: Route) -> RouteName {
        RouteName(upstream: route.upstream, topic: route.topic, key: route.upstreamKey)
    }

    private mutating func take(_ new: GatewayTables) -> Adoption {
        var change = GatewayChange()
        let before = self.tables
        let upstreams = Self.take(new.upstreams, into: &self.tables.upstreams, &change.upstreams) {
            $0.settings == $1.settings
        }
        for number in upstreams.numbers where before.upstreams.indices.contains(number) {
            let (old, upstream) = (before.upstreams[number], self.tables.upstreams[number])
            if !old.isConfigured || old.settings != upstream.settings { change.replaced.insert(number) }
        }
        let identities = new.identities.map { identity -> ClientIdentity in
            var identity = identity
            identity.routes = identity.routes.map { index in
                self.number(of: new.routes[index], at: upstreams.numbers[new.routes[index].upstream])
            }
            return identity
        }
        let routes = self.tables.routes
        let clients = Self.take(identities, into: &self.tables.identities, &change.clients) {
            $0.isSame(as: $1, routes)
        }
        (change.left, change.removed) = (upstreams.gone, clients.gone)
        self.moveLeft(clients: Set(clients.numbers), before)
        return Adoption(tables: self.tables, clients: clients.numbers, upstreams: upstreams.numbers, change: change)
    }

    /// Gives each row the number of its name, or the next number. A row whose name is missing keeps its number.
    ///
    /// - Returns: the number of each new row, and the numbers of the rows that were removed.
    private static func take<Row: NumberedRow>(
        _ new: [Row],
        into table: inout [Row],
        _ names: inout GatewayChange.Names,
        isSame: (Row, Row) -> Bool
    ) -> (numbers: [Int], gone: [Int]) {
        var known = Dictionary(table.enumerated().map { ($1.lastingName, $0) }, uniquingKeysWith: { $1 })
        let numbers = new.map { row -> Int in
            guard let number = known[row.lastingName] else {
                table.append(row)
                known[row.lastingName] = table.count - 1
                names.added.append(row.label)
                return table.count - 1
            }
            if !table[number].isConfigured {
                names.added.append(row.label)
            } else if !isSame(table[number], row) {
                names.changed.append(row.label)
            }
            table[number] = row
            return number
        }
        let gone = Set(table.indices).subtracting(numbers).filter { table[$0].isConfigured }.sorted()
        for number in gone {
            table[number].isConfigured = false
            names.removed.append(table[number].label)
        }
        return (numbers, gone)
    }

    /// Gives removed clients the present keys of their upstreams, if the configuration names these upstreams. The
    /// waiting notifications of the clients go out with the present keys, because an old key may be revoked.
    private mutating func moveLeft(clients: Set<Int>, _ before: GatewayTables) {
        for number in before.identities.indices where !clients.contains(number) {
            let routes = self.tables.identities[number].routes
            self.tables.identities[number].routes = routes.map { index in
                let upstream = self.tables.upstreams[self.tables.routes[index].upstream]
                guard upstream.isConfigured, upstream.key != self.tables.routes[index].upstreamKey else { return index }
                let old = self.tables.routes[index]
                let route = Route(upstream: old.upstream, topic: old.topic, upstreamKey: upstream.key)
                return self.number(of: route, at: old.upstream)
            }
        }
    }

    private mutating func number(of route: Route, at upstream: Int) -> Int {
        let route = Route(upstream: upstream, topic: route.topic, upstreamKey: route.upstreamKey)
        let name = Self.name(of: route)
        if let number = self.routes[name] { return number }
        self.tables.routes.append(route)
        self.routes[name] = self.tables.routes.count - 1
        return self.tables.routes.count - 1
    }
}

/// A row of the tables that keeps its number over reloads.
private protocol NumberedRow {
    /// The name by which a reload finds the number.
    var lastingName: String { get }
    /// The name for people.
    var label: String { get }
    var isConfigured: Bool { get set }
}

extension GatewayTables.Upstream: NumberedRow {
    fileprivate var lastingName: String { self.name }
    fileprivate var label: String { self.name }
}

extension ClientIdentity: NumberedRow {
    fileprivate var lastingName: String { self.storeName }
    /// The name for people.
    package var label: String { self.listenerUpstream.map { "\(self.name) (\($0))" } ?? self.name }

    /// Whether this identity and `other` have the same settings. Routes are compared by topic and upstream alone, so
    /// another ``Route/upstreamKey`` is no difference.
    fileprivate func isSame(as other: ClientIdentity, _ routes: [Route]) -> Bool {
        self.mode == other.mode && self.resends == other.resends && self.repeatsUnknown == other.repeatsUnknown
            && self.sign == other.sign && self.routes.count == other.routes.count
            && zip(self.routes, other.routes).allSatisfy {
                routes[$0].topic == routes[$1].topic && routes[$0].upstream == routes[$1].upstream
            }
    }
}
