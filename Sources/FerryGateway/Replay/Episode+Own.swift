internal import FerryCore
internal import NIOCore

/// Copies on the connection that was told. A client that reads the error response late may write copies there until
/// it sees the end of the connection.
extension Episode {
    /// The notifications that the client writes on the connection that was told.
    enum Writing {
        /// No case below is known. `repeated` is the number of first followers that just came again in a
        /// row. `repeated` is nil while a list is sent twice: the named notification came again, and only followers
        /// after it.
        case on(repeated: Int?)
        /// Followers under their old identifiers. The client does not send them again on its next connection. `next`
        /// is the position of the follower that is expected now, and `row` the number of copies that just came in a
        /// row.
        case inPlace(next: Int, row: Int)
        /// Followers under new identifiers, until the client sees the end. The client sends them on its next
        /// connection, too.
        case inCircles
        /// The same as `inCircles`, found after the drain.
        case inLateCircles
    }

    /// Whether the client was seen to circle.
    var isCircling: Bool {
        switch self.writing {
        case .inCircles, .inLateCircles: true
        case .on, .inPlace: false
        }
    }

    /// Whether the named notification has a key. The key shows whether a list is sent twice.
    var isNamed: Bool { self.named != nil }

    /// Whether at least ``GatewayBounds/circle`` followers of a rejection came again on other connections. Fewer may
    /// be deliberate repeats. False if the client sends followers under their old identifiers.
    var hasCopiesElsewhere: Bool {
        if case .inPlace = self.writing { return false }
        return self.kind == .rejection && self.copyCount >= GatewayBounds.circle
    }

    /// Whether a notification on the connection that was told may belong to a circle. During the drain, any
    /// notification may. After the drain, only a notification of a client that was seen to circle may. If the client
    /// was seen to circle during the drain alone, this episode must also prove that the client re-sends. Any other
    /// client repeats itself on purpose.
    var mayCircle: Bool {
        switch self.writing {
        case .on, .inPlace: self.isDraining
        case .inCircles: self.isDraining || self.evidence == .resends
        case .inLateCircles: true
        }
    }

    /// Consumes the follower with this key and identifier; nil if no such follower may come at this time.
    ///
    /// During the drain, any follower may come. After the drain, a deliberate repeat looks like a copy if the client
    /// has one identifier for each user. So only the next followers in the old order may come then. A few followers
    /// may be left out, because they have expired in the client's cache. A full cache of apns4erl replaces its newest
    /// notification with each new one. So after a row of copies, the very last follower may come, too.
    mutating func matchInPlace(_ key: ReplayKey, identifier: UInt32, now: NIODeadline) -> Match? {
        var (next, row) = (0, 0)
        switch self.writing {
        case .on: break
        case .inPlace(let place, let length): (next, row) = (place, length)
        case .inCircles, .inLateCircles:
            guard self.isDraining else { return nil }
        }
        let near = next..<(next + GatewayBounds.leftOut + 1)
        let last = row >= GatewayBounds.circle ? self.log.count - 1 : nil
        let position = self.log.first(key) { [isDraining] place, entry in
            entry.identifier == identifier && (isDraining || near.contains(place) || place == last)
        }
        switch self.writing {
        case .on where position == nil: break
        case .on, .inPlace:
            let isNext = position.map(near.contains) ?? false
            self.writing = .inPlace(next: position.map { $0 + 1 } ?? next, row: isNext ? row + 1 : 0)
        case .inCircles, .inLateCircles: break
        }
        return position.map { self.consume($0, isProven: true, now: now) }
    }

    /// Returns whether a circling client sends this follower again, under a new identifier, on the connection that
    /// was told. The client has read the error response, but has not seen the end of the connection. So the client
    /// takes everything that it writes there for unprocessed. A row of the first followers distinguishes a circle
    /// from a deliberate repeat.
    ///
    /// - Parameters:
    ///   - row: the number of first followers that must come again in a row; nil if no row is needed.
    ///   - leftOut: the number of first followers that may be missing at the beginning of the row.
    mutating func circled(_ offered: Follower, row: Int?, leftOut: Int, isProven: Bool) -> Bool {
        guard self.mayCircle, let position = self.log.earliest(offered.key) else {
            if case .on = self.writing { self.writing = .on(repeated: offered.key == self.named ? nil : 0) }
            return false
        }
        switch self.writing {
        case .inPlace:
            return false
        case .on(let repeated):
            let isInRow = position == repeated || position <= leftOut && repeated != nil
            let count = isInRow ? position + 1 : 0
            // A list that is sent twice continues with the followers of the named notification.
            self.writing = .on(repeated: repeated == nil || offered.key == self.named ? nil : count)
            guard repeated != nil, !offered.isConstant || isProven, count >= row ?? 0 else { return false }
            self.writing = .inCircles
            return true
        case .inCircles, .inLateCircles:
            return true
        }
    }

    /// Returns whether a circling client sends this follower again after the drain, in a frame like those of Pushy.
    /// On the connection that was told, Pushy begins again with its first follower. Two followers in their old order
    /// distinguish a circle from a deliberate repeat, and the first of them is forwarded. If the client is known to
    /// re-send, one is enough.
    ///
    /// - Parameter isOthers: whether another episode has or had this follower. A circle of that episode may pass
    ///   through this connection.
    mutating func circledLate(_ offered: Follower, isProven: Bool, isOthers: Bool) -> Bool {
        if case .inPlace = self.writing { return false }
        guard !self.isDraining, !offered.isConstant || isProven else { return false }
        guard let position = self.log.earliest(offered.key) else {
            if !isOthers { self.beginning = nil }
            return false
        }
        let follows = self.beginning.map { $0 < position && position <= $0 + GatewayBounds.leftOut + 1 } ?? false
        self.beginning = position <= GatewayBounds.leftOut ? position : nil
        guard isProven || follows else { return false }
        self.writing = .inLateCircles
        return true
    }
}
