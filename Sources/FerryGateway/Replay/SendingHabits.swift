/// The traits of a client in its use of identifiers and connections, each with the day on which it was last seen. The
/// traits decide whether the client can find the notification that an error response names; see
/// ``GatewayConnection/response(to:_:now:)``.
struct SendingHabits: Hashable, Sendable {
    /// A trait. The raw values are on disk, so never change them.
    enum Trait: Int, Sendable, CaseIterable {
        /// One connection carried two different identifiers.
        case numbers = 0
        /// One connection carried two notifications with the same identifier.
        case repeatsIdentifiers = 1
        /// A connection carried one notification, and the client ended it within ``GatewayBounds/single``.
        case endsSingles = 2
        /// A connection stayed open for ``GatewayBounds/single`` after its only notification.
        case keepsSingles = 3
    }

    /// The number of days after which a trait that was not seen again is forgotten, because the library of the client
    /// may have been replaced.
    static let lifetime: UInt16 = 30

    /// The day of each trait, in days since 1970; 0 for a trait that was never seen.
    private var days = SIMD4<UInt16>()

    init() {}

    /// The day of a time in UNIX seconds.
    static func day(_ epochSeconds: UInt32) -> UInt16 { UInt16(clamping: epochSeconds / 86_400) }

    mutating func saw(_ trait: Trait, on day: UInt16) {
        // Day 0 means never.
        self.days[trait.rawValue] = max(day, 1)
    }

    func has(_ trait: Trait, on day: UInt16) -> Bool {
        let seen = self.days[trait.rawValue]
        // If the system's clock was set back, the trait counts as seen today.
        return seen > 0 && (day <= seen || day - seen <= Self.lifetime)
    }

    /// The last day on which any trait was seen; 0 for never.
    var lastDay: UInt16 { self.days.max() }

    /// Whether no trait is known on this day.
    func isEmpty(on day: UInt16) -> Bool { !Trait.allCases.contains { self.has($0, on: day) } }

    /// Whether the client opens a connection for each notification. A client that used an identifier twice on a
    /// connection, or left a connection open, is no such client, and may have notifications to repeat.
    func isSingle(on day: UInt16) -> Bool {
        self.has(.endsSingles, on: day) && !self.has(.repeatsIdentifiers, on: day) && !self.has(.keepsSingles, on: day)
    }

    /// Whether ``isSingle(on:)`` may still become true, because no trait of the client is known on this day.
    func mayBeSingle(on day: UInt16) -> Bool {
        !self.has(.numbers, on: day) && !self.has(.endsSingles, on: day) && !self.has(.repeatsIdentifiers, on: day)
            && !self.has(.keepsSingles, on: day)
    }

    // MARK: On disk

    var rawValue: UInt64 {
        Trait.allCases.reduce(0) { $0 | UInt64(self.days[$1.rawValue]) << (16 * UInt64($1.rawValue)) }
    }

    init(rawValue: UInt64) {
        for trait in Trait.allCases {
            self.days[trait.rawValue] = UInt16(truncatingIfNeeded: rawValue >> (16 * UInt64(trait.rawValue)))
        }
    }
}
