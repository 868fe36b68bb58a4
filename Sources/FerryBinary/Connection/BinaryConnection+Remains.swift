internal import FerryCore

extension BinaryConnection {
    /// The unsettled notifications of a connection after its last response, and the facts about it at that time.
    struct Remains {
        /// Notifications whose last TLS record the system took, at least in part.
        private(set) var mayHaveLeft: [NotificationCache.Written]
        let neverLeft: [NotificationCache.Written]
        /// The number of notifications in `mayHaveLeft`.
        var onWire: Int { self.mayHaveLeft.reduce(0) { $0 + $1.run.count } }
        /// Whether only one notification may have left, and no probe.
        let isSole: Bool
        /// Whether the probe of a shutdown follows them.
        let isBehindLastProbe: Bool
        /// Whether a probe of a search follows them.
        let isBehindSearchProbe: Bool
        /// The number of notifications whose outcome rested on silence.
        let presumedCount: Int
        let progress: Progress

        /// Removes and returns those that may have left and stand before the sequence number `end`.
        mutating func take(before end: UInt64) -> [NotificationCache.Written] {
            var taken: [NotificationCache.Written] = []
            var rest: [NotificationCache.Written] = []
            for var written in self.mayHaveLeft {
                let first = written.takeFirst(before: end)
                if first.run.count > 0 { taken.append(first) }
                if written.run.count > 0 { rest.append(written) }
            }
            self.mayHaveLeft = rest
            return taken
        }
    }
}
