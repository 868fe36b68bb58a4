internal import FerryCore

/// Gives the outcomes of one provider to the handles that share it.
///
/// The provider knows a notification by its place here, because the tags of two handles may be equal. Places are used again
/// after the outcome, so there are at most as many as notifications that the provider holds.
final class TagRouter: OutcomeSink, Sendable {
    fileprivate struct Place {
        /// The handle that submitted it. Nil: the place is free, or nobody wants to hear of it.
        var mailbox: Mailbox?
        var tag: UInt64 = 0
    }

    fileprivate struct State {
        var places: [Place] = []
        var free: [Int] = []
    }

    private let state = Monitor(State())

    /// Returns the tag for the provider of a notification that `mailbox` knows as `tag`.
    func enter(_ tag: UInt64, of mailbox: Mailbox) -> UInt64 {
        self.state.withLock { state in
            let index: Int
            if let last = state.free.popLast() {
                index = last
            } else {
                index = state.places.count
                state.places.append(Place())
            }
            state.places[index] = Place(mailbox: mailbox, tag: tag)
            return UInt64(index)
        }
    }

    /// Frees the place of a notification that the provider did not take.
    func leave(_ place: UInt64) {
        self.state.withLock { _ = $0.release(place) }
    }

    func settled(_ outcomes: Span<OutcomeRecord>) {
        // The mailbox gets its outcomes under the lock: otherwise a notification would for a moment be in neither, and a close
        // of its handle would give it no outcome.
        self.state.withLock { state in
            var index = 0
            while index < outcomes.count {
                let owner = state.owner(of: outcomes[index].tag.rawValue)
                // One call for neighbours of the same handle.
                var records: [OutcomeRecord] = []
                while index < outcomes.count, state.owner(of: outcomes[index].tag.rawValue) === owner {
                    var record = outcomes[index]
                    record.tag = PushTag(state.release(record.tag.rawValue))
                    records.append(record)
                    index += 1
                }
                owner?.settled(records.span)
            }
        }
    }

    /// The places of a handle's notifications that are not in its mailbox.
    func places(of mailbox: Mailbox) -> Set<UInt64> {
        self.state.withLock { state in
            var places: Set<UInt64> = []
            for index in state.places.indices where state.places[index].mailbox === mailbox {
                places.insert(UInt64(index))
            }
            return places
        }
    }

    /// Forgets a handle. Returns the tags of its notifications that are not in its mailbox.
    func forget(_ mailbox: Mailbox) -> [UInt64] {
        self.state.withLock { state in
            var tags: [UInt64] = []
            for index in state.places.indices where state.places[index].mailbox === mailbox {
                tags.append(state.places[index].tag)
                state.places[index].mailbox = nil
            }
            return tags
        }
    }
}

extension TagRouter.State {
    fileprivate func owner(of place: UInt64) -> Mailbox? {
        self.places.indices.contains(Int(clamping: place)) ? self.places[Int(clamping: place)].mailbox : nil
    }

    /// Returns the tag of a place, and frees it.
    fileprivate mutating func release(_ place: UInt64) -> UInt64 {
        guard self.places.indices.contains(Int(clamping: place)) else { return place }
        let index = Int(clamping: place)
        defer {
            self.places[index] = TagRouter.Place()
            self.free.append(index)
        }
        return self.places[index].tag
    }
}
