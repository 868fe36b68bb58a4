internal import FerryBinary
internal import NIOCore

/// The class of a client, as a row of ``StoreTable/habits``: the next process knows it, too.
///
/// The key is the length (1) and the name of the client, then its address (0, 4 or 16). The value, big-endian, is the time
/// (4), the kind (1), and for a client that sends again its proven reach (4) and its limit (4), 0: none.
struct ClientHabit {
    private enum Kind: UInt8 {
        case never = 1
        case resends = 2
    }

    /// A client that was replaced has another habit. So one that did not change for this time is found out again.
    private static let lifetime: UInt32 = 30 * 86_400

    let scope: ReplayScope
    let replayClass: ReplayClass
    /// UNIX seconds: when it last changed.
    let shownAt: UInt32

    init(_ scope: ReplayScope, _ replayClass: ReplayClass, shownAt: UInt32) {
        self.scope = scope
        self.replayClass = replayClass
        self.shownAt = shownAt
    }

    /// Whether so much time has passed that the habit proves nothing.
    func isOver(now: UInt32) -> Bool { now > self.shownAt && now - self.shownAt > Self.lifetime }

    func row(identities: [String]) -> StoreChange {
        var value = ByteBuffer(integer: self.shownAt)
        switch self.replayClass {
        case .unknown: break
        case .never: value.writeInteger(Kind.never.rawValue)
        case .resends(let reach):
            value.writeMultipleIntegers(
                Kind.resends.rawValue,
                UInt32(clamping: reach.proven),
                UInt32(clamping: reach.limit ?? 0)
            )
        }
        let key = StoreTable.key(client: identities[self.scope.identity], self.scope.addressBytes)
        return StoreChange(.habits, key: key, value: self.replayClass == .unknown ? nil : Array(buffer: value))
    }

    /// Returns nil for a row of a client that the configuration does not name, or of another form.
    init?(_ row: StoreRow, identities: [String: Int]) {
        var value = ByteBuffer(bytes: row.value)
        guard let (name, address) = StoreTable.client(ofKey: row.key), let identity = identities[name],
            let shownAt = value.readInteger(as: UInt32.self),
            let kind = value.readInteger(as: UInt8.self).flatMap(Kind.init)
        else { return nil }
        self.scope = ReplayScope(identity: identity, address: Array(address))
        self.shownAt = shownAt
        switch kind {
        case .never:
            self.replayClass = .never
        case .resends:
            guard let (proven, limit) = value.readMultipleIntegers(as: (UInt32, UInt32).self) else { return nil }
            self.replayClass = .resends(Reach(proven: Int(proven), limit: limit == 0 ? nil : Int(limit)))
        }
    }
}
