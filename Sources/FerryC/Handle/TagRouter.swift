internal import FerryCore

/// The sink of a shared provider. The sink passes each outcome to the handle that submitted the notification, or drops
/// the outcome if the handle is gone.
///
/// The tag that the provider gets is a place in this table, because two handles may use equal tags. The place is free
/// again after the outcome of its notification, or if the provider did not take the notification. So the table grows
/// only to the largest number of notifications that were in the provider or in a submission at one time.
final class TagRouter: OutcomeSink, Sendable {
    fileprivate struct Place {
        /// The mailbox of the handle that submitted the notification; nil if the place is free, or if the handle is
        /// gone.
        var mailbox: Mailbox?
        var tag: UInt64 = 0
    }

    fileprivate struct State {
        var places: [Place] = []
        var free: [Int] = []
    }

    private let state = Monitor(State())

    /// Returns the tag by which the provider knows the notification that `mailbox` knows as `tag`.
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
        // The mailbox gets its outcomes under the lock. Without the lock, a notification would for a moment be neither
        // here nor in the mailbox, and a close of the handle would give the notification no outcome.
        self.state.withLock { state in
            var index = 0
            while index < outcomes.count {
                let owner = state.owner(of: outcomes[index].tag.rawValue)
                // Consecutive outcomes of the same handle are passed in one call.
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

    /// The places of the handle's notifications whose outcomes are not in its mailbox.
    func places(of mailbox: Mailbox) -> Set<UInt64> {
        self.state.withLock { state in
            var places: Set<UInt64> = []
            for index in state.places.indices where state.places[index].mailbox === mailbox {
                places.insert(UInt64(index))
            }
            return places
        }
    }

    /// Forgets a handle. Returns the tags of its notifications whose outcomes are not in its mailbox.
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

    /// Frees a place, and returns the handle's tag. If the table has no such place, returns `place`.
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
