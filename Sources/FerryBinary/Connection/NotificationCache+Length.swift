extension NotificationCache {
    /// The number of notifications that caches may hold, and its growth (`autoAdjustCache`).
    ///
    /// Under `.evict`, the cache of each connection keeps the bytes of this many. Under `.hold`, this many may be
    /// unsettled on all connections together.
    struct Length {
        private let policy: BinaryOptions.CachePolicy
        private let isAdjusted: Bool
        /// The bound of the growth.
        private let limit: Int
        /// The option `cacheLength` with its later growth.
        private var length: Int

        init(_ options: BinaryOptions) {
            self.policy = options.cachePolicy
            self.isAdjusted = options.autoAdjustCache
            self.limit = max(options.cacheLimit.entries, 1)
            self.length = max(options.cacheLength, 1)
        }

        /// The number now.
        var current: Int {
            switch self.policy {
            case .hold where self.isAdjusted: self.limit
            case .hold, .evict: self.length
            }
        }

        /// Notes that the bytes of a refused notification were gone. The number grows, if the options allow it.
        ///
        /// - Parameter shortfall: how many notifications more the cache needed.
        mutating func fellShort(by shortfall: Int) {
            guard self.isAdjusted else { return }
            self.length = min(self.length + shortfall, self.limit)
        }
    }
}
