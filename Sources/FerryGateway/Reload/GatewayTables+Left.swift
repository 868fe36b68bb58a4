internal import FerryCore

/// The clients that a reload in an earlier process removed while their notifications waited.
extension GatewayTables {
    /// Adds the clients that have notifications in the store and that the configuration does not name.
    ///
    /// The reload has noted the gate of the client's first topic: the topic, and the host and credential of the
    /// upstream; see ``GateRow``. If the row of the gate is missing, or no upstream has the host, the client is not
    /// added. The start then fails with an error that names the client.
    ///
    /// - Parameters:
    ///   - clients: the names in the store of the clients that have notifications there.
    ///   - gates: the rows of ``StoreTable/gates``.
    mutating func addLeft(_ clients: Set<String>, _ gates: [StoreRow]) {
        let missing = clients.subtracting(self.identities.map(\.storeName)).sorted()
        for name in missing {
            let own = GateRow.key(ofRemoved: name)
            guard let row = gates.first(where: { $0.key == own }), let gate = GateRow.parts(ofGate: row.value),
                let upstream = self.upstream(of: gate.upstreamKey)
            else { continue }
            let key = self.upstreams[upstream].key
            let known = self.routes.firstIndex { $0.upstream == upstream && $0.topic == gate.topic }
            if known == nil {
                self.routes.append(Route(upstream: upstream, topic: gate.topic, upstreamKey: key))
            }
            let parts = ClientIdentity.parts(ofStoreName: name)
            var identity = ClientIdentity(name: parts.name, routes: [known ?? self.routes.count - 1])
            identity.listenerUpstream = parts.listenerUpstream
            identity.isConfigured = false
            self.identities.append(identity)
        }
    }

    /// The upstream with this host and credential. If no upstream has both, the credential was replaced. Then the
    /// first upstream with this host is returned; nil if no upstream fits.
    private func upstream(of key: [UInt8]) -> Int? {
        let host = key.prefix { $0 != UInt8(ascii: " ") }
        return self.upstreams.firstIndex { $0.key == key }
            ?? self.upstreams.firstIndex { $0.key.prefix { $0 != UInt8(ascii: " ") } == host }
    }
}
