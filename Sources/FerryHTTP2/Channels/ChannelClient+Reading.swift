internal import BasicContainers
internal import DequeModule
package import FerryCore
internal import FerryMachine
package import NIOCore

// The answers to requests, and the time.
extension ChannelClient {
    /// Takes bytes of a connection.
    package mutating func received(_ id: ConnectionID, _ bytes: ByteBuffer, now: NIODeadline) {
        guard let place = self.place(of: id) else { return }
        do {
            try self.connections[place].receive(bytes)
        } catch {
            self.read(id, now: now)
            self.act(.close(id))
            return self.lose(id, handed: .max, now: now) { $0.violation($1, error, $2) }
        }
        self.read(id, now: now)
        // The rest would only be dropped.
        while let (request, fate) = self.connections[place].takeTooLong(now: now) {
            self.lost(request, fate) { $0.cut($1, $2) }
        }
        if !self.connections[place].session.takesRequests { self.connections[place].leave(owesGoAway: false) }
        self.finishIfDone(now: now)
    }

    /// Handles the events of a connection.
    mutating func read(_ id: ConnectionID, now: NIODeadline) {
        guard let place = self.place(of: id) else { return }
        while let event = self.connections[place].nextEvent(now: now) {
            switch event {
            case .answered(let request, let answer):
                self.answered(request, answer) { $0.cut($1, $2) }
            case .notProcessed(let request):
                self.notProcessed(request.call) { $0.refusedStream($1) }
            case .reset(let request, let errorCode):
                self.lost(request, .unknown) { $0.reset($1, errorCode, $2) }
            case .goAway:
                // The session reports the requests that it excludes.
                continue
            }
        }
    }

    /// - Parameter cut: the error if the answer is not complete.
    private mutating func answered(
        _ request: ChannelRequest,
        _ answer: ChannelAnswer,
        _ cut: (ChannelWords, ChannelOperation, ChannelWords.Effect) -> ChannelManagerError
    ) {
        var call = request.call
        switch answer.content {
        case .success(let result):
            self.settle(call, .success(result))
        case .refusal(let reason):
            let error = self.words.refused(call.operation, reason, answer.status)
            if let token = request.token { self.act(.refused(reason, token)) }
            if reason == .expiredProviderToken, answer.status == .forbidden, let token = request.token,
                call.expiry == nil, !call.isOver, !self.isShuttingDown
            {
                call.expiry = ChannelCall.Expiry(error: error, generation: token.generation)
                return self.queue.prepend(call)
            }
            self.fail(call, error, answer)
        case .invalid:
            self.fail(call, self.words.invalid(call.operation, answer.status), answer)
        case .tooLong:
            self.fail(call, self.words.tooLong(call.operation, limit: self.listLimit), answer)
        case .incomplete:
            self.fail(call, cut(self.words, call.operation, .unknown), answer)
        }
    }

    private mutating func fail(_ call: ChannelCall, _ error: ChannelManagerError, _ answer: ChannelAnswer) {
        var error = error
        error.requestID = answer.requestID
        self.fail(call, error)
    }

    /// Ends a request whose stream did not end with a whole answer.
    mutating func lost(
        _ request: ChannelRequest,
        _ fate: ChannelConnection.Fate,
        _ error: (ChannelWords, ChannelOperation, ChannelWords.Effect) -> ChannelManagerError
    ) {
        switch fate {
        case .answered(let answer): self.answered(request, answer, error)
        case .unknown: self.fail(request.call, error(self.words, request.call.operation, .unknown))
        case .notProcessed: self.notProcessed(request.call) { error($0, $1, .notProcessed) }
        }
    }

    /// Repeats a call that the peer has not processed, once, unless it is a creation.
    private mutating func notProcessed(
        _ call: ChannelCall,
        _ error: (ChannelWords, ChannelOperation) -> ChannelManagerError
    ) {
        guard call.operation.mayBeRepeated, !call.wasRepeated, !call.isOver, !self.isShuttingDown else {
            return self.fail(call, error(self.words, call.operation))
        }
        var call = call
        call.wasRepeated = true
        self.queue.prepend(call)
    }

    // MARK: Time

    /// Does what is due.
    package mutating func tick(now: NIODeadline) {
        while let place = self.queue.firstIndex(where: { $0.deadline <= now }) {
            let call = self.queue.remove(at: place)
            self.fail(call, self.words.timeout(call.operation, .notProcessed, after: self.deadline))
        }
        var late: [ConnectionID] = []
        for place in self.connections.indices {
            self.expire(place, now: now)
            if let since = self.connections[place].idleSince, since + Self.idleLimit <= now {
                self.connections[place].leave(owesGoAway: true)
            }
            if let closesAt = self.connections[place].closesAt, closesAt <= now {
                late.append(self.connections[place].id)
            }
        }
        let deadline = self.deadline
        for id in late {
            self.act(.close(id))
            self.lose(id, handed: .max, now: now) { $0.timeout($1, $2, after: deadline) }
        }
        self.finishIfDone(now: now)
    }

    /// Ends the requests of a connection whose deadline has come. The connection gets no more: it may be dead.
    private mutating func expire(_ place: Int, now: NIODeadline) {
        let deadline = self.deadline
        while let (request, fate) = self.connections[place].take(
            handed: nil,
            now: now,
            where: { $0.call.deadline <= now }
        ) {
            self.connections[place].leave(owesGoAway: true)
            var request = request
            request.call.isOver = true
            self.lost(request, fate) { $0.timeout($1, $2, after: deadline) }
        }
    }
}
