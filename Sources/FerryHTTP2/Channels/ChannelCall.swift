internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// A call of a ``ChannelClient``, from its submission to its end.
struct ChannelCall {
    /// The number by which the caller knows it.
    let number: UInt64
    let operation: ChannelOperation
    /// `apns-request-id`: the same for all attempts.
    let requestID: APNSID
    let deadline: NIODeadline
    /// Whether it was written again because APNs had not processed it.
    var wasRepeated = false
    /// Whether its task was cancelled, or its deadline has come: it is not written again.
    var isOver = false
    /// The answer to the first attempt, if it was that the token has expired. It ends the call if there is no other token.
    var expiry: Expiry?

    struct Expiry {
        var error: ChannelManagerError
        /// The token that has expired.
        var generation: UInt64
    }
}

/// A call whose request is under way.
struct ChannelRequest {
    var call: ChannelCall
    /// Nil with a certificate.
    var token: ProviderToken?
    var connection: ConnectionID
    var stream: HTTP2Session.Stream
}
