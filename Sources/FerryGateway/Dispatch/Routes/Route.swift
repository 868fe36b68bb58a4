/// One topic with its upstream, whose credential it uses.
package struct Route: Sendable {
    /// The number of the upstream in this process.
    package let upstream: Int
    /// The topic: visible ASCII, at most 255 bytes.
    package let topic: [UInt8]
    /// The upstream's host and credential, as bytes that are the same after a restart. If it is empty, the gate is cold
    /// after a restart.
    package let upstreamKey: [UInt8]
    var gate = TopicGate()

    package init(upstream: Int, topic: [UInt8], upstreamKey: [UInt8] = []) {
        self.upstreamKey = upstreamKey
        self.upstream = upstream
        self.topic = topic
    }
}
