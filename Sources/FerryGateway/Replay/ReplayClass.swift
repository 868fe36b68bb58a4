/// The habit of a client after an error response, as far as it is proven or configured.
enum ReplayClass: Hashable, Sendable {
    /// No episode has proved anything.
    case unknown
    /// The client repeats the followers.
    case resends(Reach)
    /// The client does not repeat the followers. The only error response that it gets is the answer to a notification
    /// with an empty token. The gateway opens no episode for this client. Only episodes that were open before a
    /// reload set this class still swallow copies.
    case never
}

/// The number of followers that a client repeats: the size of its cache, as far as it is known.
struct Reach: Hashable, Sendable {
    /// The largest number of followers after one error response, counted from the first that came back.
    var proven = 0
    /// The number of followers that came back when older followers did not, at least ``GatewayBounds/smallestCache``;
    /// nil if all followers came back so far. If there are more followers than this, the client has forgotten the
    /// notification that an error response would name.
    var limit: Int?

    /// Notes that, of `count` followers, those from the place `earliest` on came back.
    mutating func showed(earliest: Int, of count: Int) {
        let came = count - earliest
        self.proven = max(self.proven, came)
        if earliest > 0 {
            self.limit = max(came, GatewayBounds.smallestCache)
        } else if let limit = self.limit, came > limit {
            self.limit = came
        }
    }
}
