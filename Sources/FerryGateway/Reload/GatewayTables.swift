/// The tables of a gateway: its upstreams, its clients and the routes of the clients. The index of a row is its
/// number.
package struct GatewayTables: Sendable {
    /// The facts about an upstream that the tables need.
    package struct Upstream: Hashable, Sendable {
        package var name: String
        /// The host and the credential as bytes that are the same after a restart; see ``Route/upstreamKey``. With
        /// another key, the topics get new gates.
        package var key: [UInt8]
        /// The settings of the upstream's provider, as bytes. With other settings, the upstream gets another provider.
        package var settings: [UInt8]
        /// Whether the present configuration names the upstream. The row of an upstream that is no longer named stays,
        /// so that the upstream keeps its number. Its provider ends when no notification waits for the upstream.
        package var isConfigured = true

        package init(name: String, key: [UInt8] = [], settings: [UInt8] = []) {
            self.name = name
            self.key = key
            self.settings = settings
        }
    }

    package var upstreams: [Upstream]
    package var identities: [ClientIdentity]
    package var routes: [Route]

    package init(upstreams: [Upstream], identities: [ClientIdentity], routes: [Route]) {
        self.upstreams = upstreams
        self.identities = identities
        self.routes = routes
    }
}
