internal import FerryCore
internal import NIOCore

/// One connection of a client, and what the gateway machine keeps of it.
final class GatewayClient {
    let identity: Int
    let scope: ReplayScope
    var connection: GatewayConnection
    /// Whether the owner was told to read.
    var isReading = true
    /// The earliest timer that is set for it.
    var timer = NIODeadline.distantFuture
    /// The episode that the journal has, and whose error response was not written so far.
    var journalled: EpisodeID?
    /// Whether the journal has a notification of it.
    var isJournalled = false
    /// Whether its timer is to be set again in this turn.
    var isTouched = false

    init(_ connection: consuming GatewayConnection, identity: Int, scope: ReplayScope) {
        self.identity = identity
        self.scope = scope
        self.connection = connection
    }
}
