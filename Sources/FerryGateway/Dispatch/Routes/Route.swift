/// One topic with the upstream, and so the credential, that it is sent with.
package struct Route: Sendable {
    /// The number of the upstream in the configuration.
    package let upstream: Int
    /// Visible ASCII, at most 255 bytes.
    package let topic: [UInt8]
    /// The upstream's host and credential, as bytes that last; empty: the gate of a restart is cold.
    package let upstreamKey: [UInt8]
    var gate = TopicGate()

    package init(upstream: Int, topic: [UInt8], upstreamKey: [UInt8] = []) {
        self.upstreamKey = upstreamKey
        self.upstream = upstream
        self.topic = topic
    }
}
