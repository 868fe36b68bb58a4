internal import NIOCore

/// The class and the habits of a client, as a row of ``StoreTable/habits`` for the next process.
///
/// The key has the length of the client's name (1), the name, and the address (0, 4 or 16). The numbers are lengths
/// in bytes. The value is big-endian. It has the time of the class (4) and the kind of the class (1). If the client
/// repeats followers, its proven reach (4) and the limit of the reach (4; value 0 for no limit) follow. The days of
/// its ``SendingHabits`` (8) come last, and are missing in rows of older versions.
struct ClientHabit {
    private enum Kind: UInt8 {
        case unknown = 0
        case never = 1
        case resends = 2
    }

    /// The time in seconds after which an unchanged class is forgotten. Without this limit, a client whose library was
    /// replaced would keep the old class.
    private static let lifetime = UInt32(SendingHabits.lifetime) * 86_400

    let scope: ReplayScope
    let replayClass: ReplayClass
    let habits: SendingHabits
    /// When the class last changed, in UNIX seconds; 0 if it never changed.
    let shownAt: UInt32

    init(_ scope: ReplayScope, _ filter: ReplayFilter) {
        self.scope = scope
        self.replayClass = filter.replayClass
        self.habits = filter.habits
        self.shownAt = filter.classShownAt
    }

    private init(
        _ scope: ReplayScope,
        _ replayClass: ReplayClass,
        _ habits: SendingHabits,
        shownAt: UInt32
    ) {
        self.scope = scope
        self.replayClass = replayClass
        self.habits = habits
        self.shownAt = shownAt
    }

    /// The later of two times in UNIX seconds: the last change of the class, and the last day on which a trait was
    /// seen. A damaged row may have any day, and the latest days do not fit in 32 bits.
    var lastSeen: UInt64 { max(UInt64(self.shownAt), UInt64(self.habits.lastDay) * 86_400) }

    /// The part of the habit that still counts at this time; nil if no part does.
    func remains(now: UInt32) -> ClientHabit? {
        let isOver = now > self.shownAt && now - self.shownAt > Self.lifetime
        let replayClass = isOver ? .unknown : self.replayClass
        guard replayClass != .unknown || !self.habits.isEmpty(on: SendingHabits.day(now)) else { return nil }
        return ClientHabit(self.scope, replayClass, self.habits, shownAt: self.shownAt)
    }

    func row(identities: [String]) -> StoreChange {
        var value = ByteBuffer(integer: self.shownAt)
        switch self.replayClass {
        case .unknown:
            value.writeInteger(Kind.unknown.rawValue)
        case .never:
            value.writeInteger(Kind.never.rawValue)
        case .resends(let reach):
            value.writeMultipleIntegers(
                Kind.resends.rawValue,
                UInt32(clamping: reach.proven),
                UInt32(clamping: reach.limit ?? 0)
            )
        }
        value.writeInteger(self.habits.rawValue)
        return StoreChange(.habits, key: Self.key(self.scope, identities: identities), value: Array(buffer: value))
    }

    static func key(_ scope: ReplayScope, identities: [String]) -> [UInt8] {
        StoreTable.key(client: identities[scope.identity], scope.addressBytes)
    }

    /// Returns nil if the configuration does not name the client, or if the row has another form.
    init?(_ row: StoreRow, identities: [String: Int]) {
        var value = ByteBuffer(bytes: row.value)
        guard let (name, address) = StoreTable.client(ofKey: row.key), let identity = identities[name],
            let shownAt = value.readInteger(as: UInt32.self),
            let kind = value.readInteger(as: UInt8.self).flatMap(Kind.init)
        else { return nil }
        self.scope = ReplayScope(identity: identity, address: Array(address))
        self.shownAt = shownAt
        switch kind {
        case .unknown:
            self.replayClass = .unknown
        case .never:
            self.replayClass = .never
        case .resends:
            guard let (proven, limit) = value.readMultipleIntegers(as: (UInt32, UInt32).self) else { return nil }
            self.replayClass = .resends(Reach(proven: Int(proven), limit: limit == 0 ? nil : Int(limit)))
        }
        self.habits = SendingHabits(rawValue: value.readInteger() ?? 0)
    }
}
