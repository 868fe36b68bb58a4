internal import FerryCore
internal import FerryMachine

/// The key that signs a client's provider tokens, and the first token of that key.
struct TokenKeys {
    private var key: UInt64?
    /// The generation of the key's first token.
    private var firstGeneration: UInt64 = 0

    /// Notes that a token is used from now on. Returns whether its key differs from the key of the token before.
    mutating func use(_ token: ProviderToken) -> Bool {
        guard token.key != self.key else { return false }
        let isReplaced = self.key != nil
        self.key = token.key
        self.firstGeneration = token.generation
        return isReplaced
    }

    /// Whether a key before the present one signed the token.
    func isOfEarlierKey(_ generation: UInt64) -> Bool { generation < self.firstGeneration }
}

extension HTTP2Client {
    /// Leaves the connections that were used with the old key, after the key was replaced.
    ///
    /// "For maximum security, close all of your existing HTTP/2 connections to APNs and establish new connections
    /// before making new requests" ("Establishing a token-based connection to APNs", Apple).
    mutating func leaveReplacedKey(now: Moment) {
        guard self.owesLeaving else { return }
        self.owesLeaving = false
        // An unused connection is not bound to a key yet.
        for id in self.connections.ids where self.connections[id].isUsed { self.leave(id, now: now) }
        self.connectIfNeeded(now: now)
    }

    /// Whether APNs refused a request because of a replaced key. If so, it did not look at the notification.
    func isForEarlierKey(_ answer: PushAnswer, _ request: WrittenAttempt) -> Bool {
        self.usesTokens && answer.rejection != nil && self.keys.isOfEarlierKey(request.tokenGeneration)
            && (answer.status == .forbidden || answer.retryRule == .whenThawed)
    }
}
