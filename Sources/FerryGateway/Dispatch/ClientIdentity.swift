/// A client of the configuration, with one upstream.
///
/// A client that comes through listeners with different upstreams has an identity for each upstream. So the client
/// has a separate feedback list, known bad tokens and copies for each upstream.
package struct ClientIdentity: Sendable {
    /// The name of the client in logs and lists.
    package var name: String
    /// The name of the upstream, if a listener names it; nil for the client's own upstream.
    package var listenerUpstream: String?
    /// Whether the present configuration names the client. The notifications of a removed client are still delivered.
    package var isConfigured = true
    /// The numbers of the client's routes, one for each topic. A notification whose token has no known topic usually
    /// goes out with the topic that APNs took last for this client. At first, the topic is that of the first route.
    /// When APNs says that a token is for another topic, the next route is tried.
    package var routes: [Int]
    /// The meaning of silence for this client.
    package var mode = Mode.verdict
    /// Whether the client repeats the followers of an error response; nil if the gateway must find out.
    package var resends: Bool?
    /// Whether a notification that may have arrived is sent once more.
    package var repeatsUnknown = true
    /// The sign by which the gateway recognizes the client, such as the fingerprint of a certificate. A reload
    /// compares this sign with the sign in the new configuration.
    package var sign: GatewayClients.Sign?

    package init(name: String, routes: [Int]) {
        self.name = name
        self.routes = routes
    }

    /// The name of the client in the store. Without a ``listenerUpstream`` it is ``name`` alone.
    package var storeName: String {
        self.listenerUpstream.map { self.name + Self.separator + $0 } ?? self.name
    }

    /// A character that no name of a client has.
    private static let separator = "\u{1F}"

    /// The name of the client in a ``storeName``, and the upstream if a listener named it.
    package static func parts(ofStoreName name: String) -> (name: String, listenerUpstream: String?) {
        let parts = name.split(separator: self.separator, maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : nil)
    }

    /// The meaning of silence.
    package enum Mode: String, Sendable, CaseIterable {
        /// APNs has accepted the notification, or has not answered for ``GatewayBounds/release``. Error responses tell
        /// rejections at once, where that is safe.
        case verdict
        /// The store has the notification. No error response tells a rejection of this notification. The gateway may
        /// refuse the next push to the token instead.
        case spool
    }

    /// A new replay filter, with the class that the configuration gives the client.
    var filter: ReplayFilter {
        switch self.resends {
        case .none: ReplayFilter()
        case .some(true): ReplayFilter(.resends(Reach()), isConfigured: true)
        case .some(false): ReplayFilter(.never, isConfigured: true)
        }
    }
}
