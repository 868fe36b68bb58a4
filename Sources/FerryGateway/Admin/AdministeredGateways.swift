package import FerryAdmin
package import FerryCore
package import FerryMachine

/// The gateways that an admin service shows and changes: one gateway, or the gateways of the shards that a process
/// owns.
package protocol AdministeredGateways: Sendable {
    /// The figures of this moment; nil if the gateways have ended.
    var shown: ShownGateways? { get async }
    /// The ports of each door.
    var openPorts: [(binary: Int, feedback: Int?)] { get async }
    var hasStore: Bool { get }

    /// Takes another configuration; see ``Gateway/reload(_:_:)``.
    ///
    /// - Parameter make: makes the provider of an upstream. `upstream` is its index in the configuration. A provider
    ///   that gets a right sends only while this process holds the right.
    func reload(
        _ configuration: Gateway.Configuration,
        make: @escaping @Sendable (_ upstream: Int, _ right: ForwardingRight?) throws -> GatewayUpstream
    ) async throws -> Gateway.Reloaded

    func copyStore(to path: String) async throws(StoreError) -> StoreCopy
    func letters(after: APNSID?, limit: Int) async throws(StoreError) -> [Letter]
    func letters(_ ids: [APNSID]) async throws(StoreError) -> [Letter]
    func retry(_ letters: [Letter]) async throws -> [LetterResult]
    func drop(_ ids: [APNSID]) async throws -> [LetterResult]
    func waiting(
        after place: WaitingPlace,
        _ filter: WaitingFilter,
        limit: Int
    ) async throws -> (rows: [WaitingRow], next: WaitingPlace?)
    func waitingSums(
        after place: WaitingPlace,
        _ filter: WaitingFilter
    ) async throws -> (sums: [WaitingSum], next: WaitingPlace?)
}

/// The figures that an admin service shows.
package struct ShownGateways: Sendable {
    /// The snapshot. Its ``GatewaySnapshot/watched`` is empty if the watches of ``GatewayAdmin/Surroundings`` have all
    /// figures of the providers.
    package var snapshot: GatewaySnapshot
    /// The shards by their numbers; nil without shards.
    package var shards: [GatewayStatus.Shard]?
    package var addMetrics: @Sendable (inout MetricsText) -> Void

    package init(
        _ snapshot: GatewaySnapshot,
        shards: [GatewayStatus.Shard]? = nil,
        addMetrics: @escaping @Sendable (inout MetricsText) -> Void = { _ in }
    ) {
        self.snapshot = snapshot
        self.shards = shards
        self.addMetrics = addMetrics
    }
}

extension Gateway: AdministeredGateways {
    package var shown: ShownGateways? {
        get async {
            guard var snapshot = try? await self.snapshot else { return nil }
            snapshot.watched = []
            return ShownGateways(snapshot)
        }
    }

    package var openPorts: [(binary: Int, feedback: Int?)] { self.doorPorts }

    package func reload(
        _ configuration: Configuration,
        make: @escaping @Sendable (_ upstream: Int, _ right: ForwardingRight?) throws -> GatewayUpstream
    ) async throws -> Reloaded {
        try await self.reload(configuration) { try make($0, nil) }
    }
}
