package import NIOCore

/// All limits and times of the gateway's machines, each with its purpose.
package enum GatewayBounds {
    // MARK: The replay filter

    /// The entries that one identity may have. Above it the oldest whole episode goes: a double, never a swallow.
    package static let entriesPerIdentity = 1_000_000
    /// The entries of all identities together.
    package static let entries = 4_000_000
    /// The open episodes of one scope. Each costs one table look-up for each notification.
    package static let episodesPerScope = 256
    /// The entries with the same key that one look-up compares. Only a client that repeats itself has more than one.
    package static let equalKeys = 64

    /// How long an episode lives after its last match. A client that re-sends does so without a pause.
    package static let matchedLifetime: TimeAmount = .seconds(20)
    /// How long an episode without a match lives after its drain. A client of unknown class that repeats itself on new
    /// connections would otherwise lose its repeats.
    package static let unmatchedLifetime: TimeAmount = .seconds(60)
    /// The same for a client that is known to re-send: its caller may retry late.
    package static let provenLifetime: TimeAmount = .minutes(10)
    /// The matches that show from which follower on a client re-sends. One match may be a deliberate repeat.
    package static let matchesThatTrim = 3
    /// How far before those matches entries stay, because clients reorder what they re-send.
    package static let trimDistance = 64
    /// How long trimmed entries stay when copies may come on several connections, or of several episodes.
    package static let trimDelay: TimeAmount = .seconds(2)
    /// How long a second connection counts as the client's habit.
    package static let severalMemory: TimeAmount = .minutes(1)
    /// The last followers of an episode, by which the class is judged: a small cache still has them.
    package static let evidence = 32
    /// An episode with fewer entries is no miss if at least one matched.
    package static let missFloor = 4
    /// The misses in a row after which a client counts as one that never re-sends.
    package static let missLimit = 2
    /// How many of the first notifications of a new connection may fail to match the episodes of a crash.
    package static let crashMisses = 3

    /// Swallowed copies for each new notification, over ``amplificationTime``. More copies would cost more than the
    /// error responses are worth.
    package static let amplification = 3
    package static let amplificationTime: TimeAmount = .seconds(10)
}
