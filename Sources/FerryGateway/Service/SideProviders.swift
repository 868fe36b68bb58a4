internal import FerryCore
internal import Synchronization

/// The providers of the side connections that are open, or whose last answers are awaited.
final class SideProviders: Sendable {
    private let sides = Mutex<[SideID: GatewayUpstream.Side]>([:])

    /// The time for a provider to close its connection. What is under way there, and late, may have arrived.
    private static let limit: Duration = .seconds(1)

    subscript(id: SideID) -> GatewayUpstream.Side? { self.sides.withLock { $0[id] } }

    func add(_ side: GatewayUpstream.Side, as id: SideID) { self.sides.withLock { $0[id] = side } }

    /// Closes a connection that is not used any more.
    func close(_ id: SideID) {
        guard let side = self.sides.withLock({ $0.removeValue(forKey: id) }) else { return }
        Task { _ = await side.provider.shutDown(within: Self.limit) }
    }

    /// Closes all connections.
    func shutDown(within limit: Duration) async {
        let sides = self.sides.withLock { sides in
            defer { sides = [:] }
            return sides.values.map(\.provider)
        }
        for provider in sides { _ = await provider.shutDown(within: limit) }
    }
}
