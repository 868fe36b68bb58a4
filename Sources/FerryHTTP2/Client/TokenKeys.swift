internal import FerryCore
internal import FerryMachine

/// Which key signs the provider tokens of a client, and whose tokens are of an earlier one.
struct TokenKeys {
    private var key: UInt64?
    /// The first token of the key.
    private var firstGeneration: UInt64 = 0

    /// Notes that a token is used from now on; returns whether it is the first of another key than the one before.
    mutating func use(_ token: ProviderToken) -> Bool {
        guard token.key != self.key else { return false }
        let isReplaced = self.key != nil
        self.key = token.key
        self.firstGeneration = token.generation
        return isReplaced
    }

    /// Whether an earlier key than the one that is used now signed the token.
    func isOfEarlierKey(_ generation: UInt64) -> Bool { generation < self.firstGeneration }
}

extension HTTP2Client {
    /// Leaves the connections that were used with another key, if it was replaced.
    ///
    /// "For maximum security, close all of your existing HTTP/2 connections to APNs and establish new connections before
    /// making new requests" ("Establishing a token-based connection to APNs", Apple).
    mutating func leaveReplacedKey(now: Moment) {
        guard self.owesLeaving else { return }
        self.owesLeaving = false
        // An unused one is bound to no key yet.
        for id in self.connections.ids where self.connections[id].isUsed { self.leave(id, now: now) }
        self.connectIfNeeded(now: now)
    }

    /// Whether APNs refused a request for a key that is not used any more, so that it did not look at the notification.
    func isForEarlierKey(_ answer: Answer, _ request: InFlight.Request) -> Bool {
        self.usesTokens && answer.rejection != nil && self.keys.isOfEarlierKey(request.tokenGeneration)
            && (answer.status == .forbidden || answer.retryRule == .whenThawed)
    }
}
