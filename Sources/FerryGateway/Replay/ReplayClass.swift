/// The habit of a client after an error response, as far as it is proven or configured.
enum ReplayClass: Hashable, Sendable {
    /// No episode has proved anything.
    case unknown
    /// The client repeats the followers.
    case resends(Reach)
    /// The client does not repeat the followers. It gets no error response, unless it asks for one with an empty token.
    /// The gateway swallows no notification of this client.
    case never
}

/// The number of followers that a client repeats: the size of its cache, as far as it is known.
struct Reach: Hashable, Sendable {
    /// The largest number of followers that came back after one error response.
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
