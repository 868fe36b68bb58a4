/// One client stack, as the configuration names it.
package struct GatewayIdentity: Sendable {
    /// For logs and lists.
    package var name: String
    /// The numbers of its routes: first the topic that notifications get, then those that are tried when APNs says that
    /// the token is for another topic. At least one.
    package var routes: [Int]
    /// The meaning of silence for this client.
    package var mode = Mode.verdict
    /// Whether the client sends again what followed an error; nil: the gateway finds out.
    package var resends: Bool?
    /// Whether a notification that may have arrived goes out once more.
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

    /// The filter of the client's copies.
    var filter: ReplayFilter {
        switch self.resends {
        case .none: ReplayFilter()
        case .some(true): ReplayFilter(.resends(Reach()), isConfigured: true)
        case .some(false): ReplayFilter(.never, isConfigured: true)
        }
    }
}
