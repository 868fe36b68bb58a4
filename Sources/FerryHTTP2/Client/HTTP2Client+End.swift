package import FerryCore
package import FerryMachine
internal import NIOCore

extension HTTP2Client {
    /// Sends everything that was submitted, and then finishes every connection.
    ///
    /// - Parameter proof: has no effect over HTTP/2, where every acceptance is proved.
    package mutating func shutDown(proof: Proof, now: Moment) {
        self.isShuttingDown = true
        self.checkCompleted(now: now)
    }

    /// Gives an outcome to every notification without one, and closes every connection.
    ///
    /// - Parameter handed: for each connection, the number of bytes that the system took of the stream below TLS.
    package mutating func abandon(
        undelivered: Outcome.UndeliveredCause,
        uncertain: Outcome.UncertainCause,
        handed: (ConnectionID) -> UInt64,
        now: Moment
    ) {
        self.isShuttingDown = true
        let open = self.connections.ids
        for id in open {
            let handed = handed(id)
            self.connections[id].end()
            while let (lost, fate) = self.connections[id].nextLost(handed: handed) {
                let request = self.written.take(lost.slot)
                switch fate {
                case .answered(let answer):
                    self.answered(request, answer, on: id, now: now)
                case .unknown:
                    self.outcomes.give(.uncertain(uncertain), to: request.attempt.run, apnsID: request.attempt.apnsID)
                case .unsent:
                    self.giveUp(request.attempt, undelivered, uncertain)
                }
            }
            self.act(.close(id))
        }
        let pings = self.connections.takePings()
        self.keep(pings)
        self.connections.removeAll()
        for id in open { self.report(.disconnected(id, open: 0)) }
        if let dialled = self.dialling.cancel() { self.act(.close(dialled)) }
        self.giveUpQueue(undelivered, uncertain)
        self.checkCompleted(now: now)
    }

    /// Reports when everything has its outcome. During a shutdown, leaves every connection then.
    mutating func checkCompleted(now: Moment) {
        guard self.isSettled else { return }
        if self.isIncomplete {
            self.isIncomplete = false
            self.report(.completed)
        }
        guard self.isShuttingDown else { return }
        if let dialled = self.dialling.cancel() { self.act(.close(dialled)) }
        for id in self.connections.ids { self.leave(id, now: now) }
    }
}
