internal import FerryCore
internal import NIOCore

/// Copies on the connection that was told. A client hears the error response late, and writes there until it sees the end.
extension Episode {
    /// The client's writing on the connection that was told.
    enum Writing {
        /// Any notifications. `repeated` of the first followers came again just now, one after the other; nil: the
        /// notification that the error response names came again, as in a list that is sent twice.
        case on(repeated: Int?)
        /// Its followers, under their old identifiers, and not on the next connection. The next one is expected here.
        case inPlace(next: Int)
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
    /// Behind the drain, identifiers may name a client's users, so that a repeat on purpose looks the same. Copies come in
    /// their old order, from the first follower on; a few may have expired in the client's cache.
    mutating func matchInPlace(_ key: ReplayKey, identifier: UInt32, now: NIODeadline) -> Match? {
        var places = 0..<self.log.count
        if !self.isDraining {
            var next = 0
            switch self.writing {
            case .inPlace(let place): next = place
            case .on: break
            case .inCircles, .inLateCircles: return nil
            }
            places = min(next, places.upperBound)..<min(next + GatewayBounds.leftOut + 1, places.upperBound)
        }
        let position = self.log.first(key) { places.contains($0) && $1.identifier == identifier }
        guard let position else { return nil }
        switch self.writing {
        case .on, .inPlace: self.writing = .inPlace(next: position + 1)
        case .inCircles, .inLateCircles: break
        }
        return self.consume(position, isProven: true, now: now)
    }

    /// Returns whether this is a follower that came again on the connection that was told, under a new identifier, because the
    /// client circles: it has read the error response, but not the end behind it, and takes all that it writes there for
    /// unprocessed. A row of the first followers tells that from a repeat on purpose.
    ///
    /// - Parameter row: the length of the row; nil: none is needed.
    mutating func circled(_ offered: Follower, row: Int?, isProven: Bool) -> Bool {
        guard self.mayCircle, let position = self.log.earliest(offered.key) else {
            if case .on = self.writing { self.writing = .on(repeated: offered.key == self.named ? nil : 0) }
            return false
        }
        switch self.writing {
        case .inPlace:
            return false
        case .on(let repeated):
            let count = position == repeated ? position + 1 : position == 0 && repeated != nil ? 1 : 0
            self.writing = .on(repeated: offered.key == self.named ? nil : count)
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
