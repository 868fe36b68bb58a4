internal import FerryCore
internal import NIOCore

/// The notifications that got a server error (5xx) on a connection that may be at fault, until that is decided.
///
/// If the connection turns out useless, they are sent once more on another, with the same `apns-id`. Otherwise they
/// follow the rule for their answer. There are at most four for each connection, because the fifth error decides.
struct Suspects {
    struct Suspect {
        var request: WrittenAttempt
        var rejection: Rejection
        var retryAfter: UInt32?
        var connection: ConnectionID
        /// When the rule for the answer applies, if there is no decision before.
        var until: NIODeadline
    }

    /// The time that a notification waits for the decision. It waits only while other requests may bring one.
    static let patience: TimeAmount = .seconds(2)

    private var all: [Suspect] = []

    var count: Int { self.all.count }

    /// The first time at which the rule applies to a notification.
    var deadline: NIODeadline? { self.all.first?.until }

    mutating func append(_ suspect: Suspect) { self.all.append(suspect) }

    /// Removes and returns the notifications of a connection.
    mutating func take(of id: ConnectionID) -> [Suspect] {
        guard self.all.contains(where: { $0.connection == id }) else { return [] }
        let taken = self.all.filter { $0.connection == id }
        self.all.removeAll { $0.connection == id }
        return taken
    }

    /// Removes and returns the first notification whose time is over.
    mutating func popFirst(dueBy now: NIODeadline) -> Suspect? {
        guard let first = self.all.first, first.until <= now else { return nil }
        return self.all.removeFirst()
    }

    func forEach(_ body: (Attempt) -> Void) {
        for suspect in self.all { body(suspect.request.attempt) }
    }

    /// Removes and returns the attempts for which `isTaken` is true, with their rejections.
    mutating func remove(where isTaken: (Attempt) -> Bool) -> [Attempt] {
        guard !self.all.isEmpty else { return [] }
        let taken = self.all.filter { isTaken($0.request.attempt) }
        self.all.removeAll { isTaken($0.request.attempt) }
        return taken.map { suspect in
            var attempt = suspect.request.attempt
            attempt.rejection = suspect.rejection
            return attempt
        }
    }
}
