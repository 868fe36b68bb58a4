/// One topic with the upstream, and so the credential, that it is sent with.
package struct Route: Sendable {
    /// The number of the upstream in the configuration.
    package let upstream: Int
    /// Visible ASCII, at most 255 bytes.
    package let topic: [UInt8]
    var gate = TopicGate()

    package init(upstream: Int, topic: [UInt8]) {
        self.upstream = upstream
        self.topic = topic
    }
}

/// One client stack, as the configuration names it.
package struct GatewayIdentity: Sendable {
    /// For logs and lists.
    package var name: String
    /// The numbers of its routes: first the topic that notifications get, then those that are tried when APNs says that
    /// the token is for another topic. At least one.
    package var routes: [Int]

    package init(name: String, routes: [Int]) {
        self.name = name
        self.routes = routes
    }
}
