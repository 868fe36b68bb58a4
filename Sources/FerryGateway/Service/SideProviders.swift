internal import FerryCore

/// The providers of side connections that are open, or that still wait for answers.
final class SideProviders: Sendable {
    private let sides = Locked<[SideID: GatewayUpstream.Side]>([:])

    /// How long a provider may take to close its connection. Notifications without an answer by that time may have
    /// arrived.
    private static let limit: Duration = .seconds(1)

    subscript(id: SideID) -> GatewayUpstream.Side? { self.sides.withLock { $0[id] } }

    func add(_ side: GatewayUpstream.Side, as id: SideID) { self.sides.withLock { $0[id] = side } }

    /// Closes a connection that is no longer used.
    func close(_ id: SideID) {
        guard let side = self.sides.withLock({ $0.removeValue(forKey: id) }) else { return }
        Task { _ = await side.provider.shutDown(within: Self.limit) }
    }

    /// Closes all connections, one after the other, each within `limit`.
    func shutDown(within limit: Duration) async {
        let sides = self.sides.withLock { sides in
            defer { sides = [:] }
            return sides.values.map(\.provider)
        }
        for provider in sides { _ = await provider.shutDown(within: limit) }
    }
}
