package import FerryOpenSSL
package import FerryServer

extension Gateway {
    /// An entry of the configuration with an address at which old clients connect. Doors with the same address share a
    /// socket.
    package struct Door: Sendable {
        /// The host to bind, as a name or an address.
        package var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        package var port = 0
        /// Whether clients may connect. If false, the door has a feedback service only.
        package var hasClients = true
        /// The port of the feedback service; 0 for any port, nil for no service.
        package var feedbackPort: Int?
        /// A socket that listens already, in place of ``host`` and ``port``.
        package var passed: PassedSocket?
        /// A socket of the feedback service that listens already. If it is set, there is a feedback service, even if
        /// ``feedbackPort`` is nil.
        package var passedFeedback: PassedSocket?
        /// The server names (SNI) for which clients come through this door. A door without names is for all other
        /// clients of its address. Each address needs one door without names.
        package var serverNames: [String] = []
        /// The gateway's certificate and key. The key should be RSA, because old clients support no other kind.
        package var identity: TLSIdentity
        /// The profile that sets the oldest version of TLS for clients. Doors at the same address must have the same
        /// profile.
        package var tlsProfile = TLSProfile.modern
        /// The proxies through which clients come. Doors at the same address must have the same proxies, because only
        /// the proxies of the first door are used.
        package var proxies = TrustedProxies()
        /// The clients, and the signs by which each is recognized.
        package var clients: GatewayClients

        package init(identity: TLSIdentity, clients: GatewayClients) {
            self.identity = identity
            self.clients = clients
        }
    }

    /// The addresses and the clients of a gateway.
    package struct Configuration: Sendable {
        /// The doors, at least one.
        package var doors: [Door]
        /// The largest number of gateways with clients in the process. They share the descriptors of the process.
        package var gateways = 1
        /// The number of upstreams of each other gateway in the process, for a gateway without upstreams, such as a
        /// feedback service. Descriptors are left free for these upstreams.
        package var otherUpstreams = 0
        /// How a start takes the store and the addresses of a process that ends. If nil, the start fails while another
        /// process has them.
        package var succession: Succession?
        /// The upstreams, in the order of those given to ``Gateway/start(_:upstreams:on:)``. Empty if the upstreams
        /// have no names. A gateway whose upstreams have no names cannot be reloaded.
        package var upstreams: [GatewayTables.Upstream] = []
        /// The identities. They decide how each client's notifications are forwarded.
        package var identities: [ClientIdentity]
        package var routes: [Route]
        /// The store; nil for a gateway without one.
        package var store: (any GatewayStore)?
        /// The file of the list of rejections; nil if only ``onEvent`` and the table of a ``SharedStore`` get the
        /// rejections. The gateway closes the file at the gateway's end. With a ``SharedStore``, the file is for all
        /// gateways of the process, and stays open.
        package var list: ListFile?
        /// Called once on the gateway's event loop, after another process has taken a ``SharedStore``. By then, this
        /// gateway has handed everything over, and closed the connections of its clients. Shut the gateway down then.
        package var onHandedOver: @Sendable () -> Void = {}
        /// Called on the gateway's event loop when a connection of a client opens (true), and when it has ended
        /// (false). It must not block. Connections of ferry doctor, and of clients without a known address, are left
        /// out.
        package var onConnection: (@Sendable (ClientAddress, _ isOpen: Bool) -> Void)?
        /// Gets each event that should be logged, with the counts at that time. It runs on the gateway's event loop,
        /// and must not block.
        package var onEvent: @Sendable (GatewayEvent, FateCounts) -> Void = { _, _ in }

        package init(
            identity: TLSIdentity,
            clients: GatewayClients,
            identities: [ClientIdentity],
            routes: [Route]
        ) {
            self.doors = [Door(identity: identity, clients: clients)]
            self.identities = identities
            self.routes = routes
        }

        /// The host of the first door. This member and those below are short forms, because most gateways have one
        /// door.
        package var host: String {
            get { self.doors[0].host }
            set { self.doors[0].host = newValue }
        }
        package var port: Int {
            get { self.doors[0].port }
            set { self.doors[0].port = newValue }
        }
        package var feedbackPort: Int? {
            get { self.doors[0].feedbackPort }
            set { self.doors[0].feedbackPort = newValue }
        }
        package var passed: PassedSocket? {
            get { self.doors[0].passed }
            set { self.doors[0].passed = newValue }
        }
        package var passedFeedback: PassedSocket? {
            get { self.doors[0].passedFeedback }
            set { self.doors[0].passedFeedback = newValue }
        }
        package var identity: TLSIdentity {
            get { self.doors[0].identity }
            set { self.doors[0].identity = newValue }
        }
        package var tlsProfile: TLSProfile {
            get { self.doors[0].tlsProfile }
            set { self.doors[0].tlsProfile = newValue }
        }
        package var proxies: TrustedProxies {
            get { self.doors[0].proxies }
            set { self.doors[0].proxies = newValue }
        }
        package var clients: GatewayClients {
            get { self.doors[0].clients }
            set { self.doors[0].clients = newValue }
        }

        /// The tables, with a name for each upstream.
        package func tables(upstreams count: Int) -> GatewayTables {
            let unnamed = (0..<count).map { GatewayTables.Upstream(name: "\($0)") }
            return GatewayTables(
                upstreams: self.upstreams.isEmpty ? unnamed : self.upstreams,
                identities: self.identities,
                routes: self.routes
            )
        }
    }
}
