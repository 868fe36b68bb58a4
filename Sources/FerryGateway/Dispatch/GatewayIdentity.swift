/// One client stack, as the configuration names it.
package struct GatewayIdentity: Sendable {
    /// The name of the client in logs and lists.
    package var name: String
    /// The numbers of the client's routes, at least one. Notifications get the topic of the first. The others are tried
    /// when APNs says that the token is for another topic.
    package var routes: [Int]
    /// The meaning of silence for this client.
    package var mode = Mode.verdict
    /// Whether the client sends again the followers of an error response; nil if the gateway must find out.
    package var resends: Bool?
    /// Whether a notification that may have arrived is sent once more.
    package var repeatsUnknown = true

    package init(name: String, routes: [Int]) {
        self.name = name
        self.routes = routes
    }

    /// The meaning of silence.
    package enum Mode: String, Sendable, CaseIterable {
        /// APNs has accepted the notification, or has not answered for ``GatewayBounds/release``. Rejections are told at
        /// once where that is safe.
        case verdict
        /// The store has the notification. Rejections are told at the next push to the token.
        case spool
    }

    /// A new filter for the client's copies.
    var filter: ReplayFilter {
        switch self.resends {
        case .none: ReplayFilter()
        case .some(true): ReplayFilter(.resends(Reach()), isConfigured: true)
        case .some(false): ReplayFilter(.never, isConfigured: true)
        }
    }
}
