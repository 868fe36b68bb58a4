internal import DequeModule
package import FerryCore
package import FerryMachine
internal import NIOCore

// The connections, from the first call to the end.
extension ChannelClient {
    /// Makes a connection if a call waits for one.
    mutating func connectIfNeeded() {
        guard !self.queue.isEmpty, self.dialling == nil, self.connections.taking == nil else { return }
        self.lastConnection += 1
        let id = ConnectionID(self.lastConnection)
        self.dialling = id
        self.act(.dial(id))
    }

    /// Takes the news that a connection is established.
    package mutating func connected(_ id: ConnectionID, now: Moment) {
        guard self.dialling == id else { return self.act(.close(id)) }
        self.dialling = nil
        do {
            self.connections.append(
                try HTTP2Connection(id: id, limits: self.limits, earned: self.earned, now: now)
            )
            while let doubtful = self.connections.replaced(limit: 1) { self.leave(doubtful, now: now) }
        } catch {
            self.act(.close(id))
            self.failQueue { $0.violation($1, error, .notProcessed) }
        }
        self.finishIfDone(now: now)
    }

    /// Takes the news that a connection has ended, or could not be made.
    ///
    /// - Parameter handed: the number of bytes that the system took of the stream below TLS.
    package mutating func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64, now: Moment) {
        if self.dialling == id {
            self.dialling = nil
            return self.failQueue { $0.ended($1, end, .notProcessed) }
        }
        self.lose(id, handed: handed, now: now) { $0.ended($1, end, $2) }
    }

    /// Removes a connection. Fails the requests under way, and also those that wait if it was of no use at all: another
    /// connection would be of none, either.
    mutating func lose(_ id: ConnectionID, handed: UInt64, now: Moment, _ error: ChannelWords.Lapse) {
        guard self.connections.contains(id) else { return }
        let wasLeft = self.connections[id].isLeaving && !self.connections[id].isViolated
        let isUseless = !wasLeft && self.connections[id].countsAsFailure()
        self.connections[id].end()
        while let (request, fate) = self.connections[id].nextLost(handed: handed) {
            self.lost(self.takeRequest(request.slot), fate, error)
        }
        _ = self.connections.remove(id)
        if isUseless { self.failQueue { error($0, $1, .notProcessed) } }
        self.finishIfDone(now: now)
    }

    /// Closes a connection that is of no more use.
    mutating func drop(_ id: ConnectionID, now: Moment, _ error: ChannelWords.Lapse) {
        self.act(.close(id))
        // This code does not know how many bytes the system took. All of them is the safe assumption.
        self.lose(id, handed: .max, now: now, error)
    }

    /// Stops new requests on a connection. It ends when the last request was answered.
    mutating func leave(_ id: ConnectionID, now: Moment) {
        if self.connections[id].leave(now: now.monotonic) == .finish { self.act(.finish(id)) }
    }

    mutating func failQueue(_ error: (ChannelWords, ChannelOperation) -> ChannelManagerError) {
        while let call = self.queue.popFirst() { self.fail(call, error(self.words, call.operation)) }
    }

    // MARK: The end

    /// Ends what was not written, lets the requests under way get their answers, and then ends the connections.
    package mutating func shutDown(now: Moment) {
        self.isShuttingDown = true
        self.failQueue { $0.shutDown($1, .notProcessed) }
        if let dialling { self.act(.close(dialling)) }
        self.dialling = nil
        for id in self.connections.ids { self.leave(id, now: now) }
        self.finishIfDone(now: now)
    }

    /// Ends every call and closes every connection now.
    package mutating func abandon(handed: (ConnectionID) -> UInt64, now: Moment) {
        self.shutDown(now: now)
        for id in self.connections.ids {
            self.act(.close(id))
            self.lose(id, handed: handed(id), now: now) { $0.shutDown($1, $2) }
        }
    }

    /// Finishes the connections that are to be left and have nothing under way, and connects if a call waits.
    mutating func finishIfDone(now: Moment) {
        for id in self.connections.ids where self.connections[id].finishIfDone(now: now.monotonic) == .finish {
            self.act(.finish(id))
        }
        if let id = self.connections.taking, self.connections[id].underWay == 0 {
            self.idleSince = self.idleSince ?? now.monotonic
        } else {
            self.idleSince = nil
        }
        self.connectIfNeeded()
    }
}
