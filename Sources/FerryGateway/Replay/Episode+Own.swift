internal import FerryCore
internal import NIOCore

/// Copies on the connection that was told. A client hears the error response late, and writes there until it sees the end.
extension Episode {
    /// The client's writing on the connection that was told.
    enum Writing {
        /// Any notifications. `repeated` of the first followers came again just now, one after the other; nil: the
        /// notification that the error response names came again, and only followers behind it, as in a list that is sent
        /// twice.
        case on(repeated: Int?)
        /// Its followers, under their old identifiers, and not on the next connection. The next one is expected here;
        /// `row` copies came one after the other just now.
        case inPlace(next: Int, row: Int)
        /// Its followers, under new identifiers, until it sees the end of the connection. They come on the next one, too.
        case inCircles
        /// The same, found behind the drain.
        case inLateCircles
    }

    /// Whether the client was seen to circle.
    var isCircling: Bool {
        switch self.writing {
        case .inCircles, .inLateCircles: true
        case .on, .inPlace: false
        }
    }

    /// Whether the named notification has a key: by it, a list that is sent twice is known.
    var isNamed: Bool { self.named != nil }

    /// Whether followers came again on other connections. A single one may be a repeat on purpose.
    var hasCopiesElsewhere: Bool {
        if case .inPlace = self.writing { return false }
        return self.kind == .rejection && self.copyCount >= GatewayBounds.circle
    }

    /// Whether a notification on the connection that was told may belong to a circle. Behind the drain, it may only if
    /// the client has sent copies elsewhere, or was found to circle there: another client repeats itself.
    var mayCircle: Bool {
        switch self.writing {
        case .on, .inPlace: self.isDraining
        case .inCircles: self.isDraining || self.evidence == .resends
        case .inLateCircles: true
        }
    }

    /// Consumes the follower with this key and this identifier, which came again under its old identifier.
    ///
    /// Identifiers may name a client's users. Behind the drain, a repeat on purpose then looks the same. Copies come in
    /// their old order, from the first follower on; a few may have expired in the client's cache. apns4erl's cache, when
    /// it is full, forgets its newest notification for the next one. So behind a row of copies, the very last follower may
    /// come next.
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

    /// Returns whether this is a follower that came again on the connection that was told, under a new identifier, because the
    /// client circles: it has read the error response, but not the end behind it, and takes all that it writes there for
    /// unprocessed. A row of the first followers tells that from a repeat on purpose.
    ///
    /// - Parameters:
    ///   - row: the length of the row; nil: none is needed.
    ///   - leftOut: the first followers that may be missing at its beginning.
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
            // A list that is sent twice goes on with the followers of the named notification.
            self.writing = .on(repeated: repeated == nil || offered.key == self.named ? nil : count)
            guard repeated != nil, !offered.isConstant || isProven, count >= row ?? 0 else { return false }
            self.writing = .inCircles
            return true
        case .inCircles, .inLateCircles:
            return true
        }
    }

    /// The same behind the drain, for frames like those of Pushy, which begins there again with what it wrote first. Two
    /// followers in their old order tell a circle from a repeat on purpose; the first of them is forwarded.
    ///
    /// - Parameter isOthers: whether it is a follower of another connection of the client, whose circle may lead through
    ///   this one.
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
