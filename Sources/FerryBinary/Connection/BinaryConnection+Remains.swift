extension BinaryConnection {
    /// The unsettled notifications of a connection that says nothing more, and the facts about it at that moment.
    struct Remains {
        /// Notifications whose last TLS record the system took, at least in part.
        let mayHaveLeft: [NotificationCache.Written]
        let neverLeft: [NotificationCache.Written]
        /// The number of notifications in `mayHaveLeft`.
        let onWire: Int
        /// Whether one notification may have left and nothing else did, not even a probe.
        let isSole: Bool
        /// Whether a probe follows them that a shutdown wrote to get proof.
        let isBehindLastProbe: Bool
        /// The number of notifications whose outcome rested on silence.
        let presumedCount: Int
        let progress: Progress
    }
}
