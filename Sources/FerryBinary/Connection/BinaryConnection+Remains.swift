extension BinaryConnection {
    /// What is unsettled on a connection that says nothing more, and what was known of it then.
    struct Remains {
        /// Those whose last TLS record the system had, at least in part.
        let mayHaveLeft: [NotificationCache.Written]
        let neverLeft: [NotificationCache.Written]
        /// How many of `mayHaveLeft`.
        let onWire: Int
        /// Whether one notification may have left and nothing else ever did, no probe either.
        let isSole: Bool
        /// Whether a probe is behind them that a shutdown wanted to have answered.
        let isBehindLastProbe: Bool
        /// How many notifications had an outcome that rests on silence.
        let presumedCount: Int
        let progress: Progress
    }
}
