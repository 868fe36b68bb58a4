internal import NIOCore

/// An attempt whose request is under way.
struct WrittenAttempt {
    var attempt: Attempt
    /// The generation of the token that the request carried.
    var tokenGeneration: UInt64
    var written: NIODeadline
}

/// The attempts under way, by the slots under which the connections know their requests.
///
/// A slot is used again. A connection returns each slot once, so a late answer cannot meet another attempt.
struct WrittenAttempts {
    private var places: [WrittenAttempt?] = []
    private var free: [UInt64] = []

    /// Notes that the request for an attempt is written, and returns its slot.
    mutating func insert(_ attempt: consuming Attempt, tokenGeneration: UInt64, written: NIODeadline) -> UInt64 {
        attempt.wasWritten = true
        let request = WrittenAttempt(attempt: attempt, tokenGeneration: tokenGeneration, written: written)
        guard let slot = self.free.popLast() else {
            self.places.append(request)
            return UInt64(self.places.count - 1)
        }
        self.places[Int(slot)] = request
        return slot
    }

    /// Removes and returns the attempt in a slot. It must exist.
    mutating func take(_ slot: UInt64) -> WrittenAttempt {
        guard let request = self.places[Int(slot)].take() else { preconditionFailure("slot \(slot) is empty.") }
        self.free.append(slot)
        return request
    }

    func forEach(_ body: (Attempt) -> Void) {
        for case .some(let request) in self.places { body(request.attempt) }
    }
}
