internal import DequeModule
package import FerryCore
package import FerryMachine
package import NIOCore

// The answers to requests, and the time.
extension ChannelClient {
    /// Takes bytes of a connection.
    package mutating func received(_ id: ConnectionID, _ bytes: ByteBuffer, now: Moment) {
        guard self.connections.contains(id) else { return }
        do {
            try self.connections[id].receive(bytes, now: now)
        } catch {
            self.read(id, now: now)
            return self.drop(id, now: now) { $0.violation($1, error, $2) }
        }
        self.read(id, now: now)
        // The rest would only be dropped.
        while let place = self.requests.firstIndex(where: {
            $0.connection == id && self.connections[id].isTooLong($0.stream)
        }) {
            self.withdraw(at: place) { $0.cut($1, $2) }
        }
        if self.connections[id].conduct.isUseless { self.leave(id, now: now) }
        self.connections[id].endReading()
        self.finishIfDone(now: now)
    }

    /// Handles the events of a connection.
    mutating func read(_ id: ConnectionID, now: Moment) {
        while let action = self.connections[id].read(now: now) {
            switch action {
            case .answered(let request, let answer):
                _ = self.connections[id].answered(answer, earned: &self.earned)
                self.answered(self.takeHeard(request.slot), answer) { $0.cut($1, $2) }
            case .refused(let slot, _), .unsent(let slot):
                self.notProcessed(self.takeHeard(slot).call) { $0.refusedStream($1) }
            case .reset(let slot, let errorCode, _):
                self.lost(self.takeHeard(slot), .unknown) { $0.reset($1, errorCode, $2) }
            case .windowAdjusted, .goAway:
                // The session reports the requests that a GOAWAY excludes.
                continue
            }
        }
    }

    /// Removes and returns the request of a call under way. It must exist.
    mutating func takeRequest(_ number: UInt64) -> ChannelRequest {
        guard let place = self.requests.firstIndex(where: { $0.call.number == number }) else {
            preconditionFailure("Call \(number) is not under way.")
        }
        return self.requests.remove(at: place)
    }

    /// Removes and returns a request of which the peer has said something. So its connection was of use.
    private mutating func takeHeard(_ number: UInt64) -> ChannelRequest {
        let request = self.takeRequest(number)
        self.connections[request.connection].excuse()
        return request
    }

    /// Ends a request before its stream ends.
    mutating func withdraw(at place: Int, _ error: ChannelWords.Lapse) {
        let request = self.requests.remove(at: place)
        self.lost(request, self.connections[request.connection].take(request.stream), error)
    }

    /// - Parameter cut: the error if the answer is not complete.
    private mutating func answered(_ request: ChannelRequest, _ answer: PushAnswer, _ cut: ChannelWords.Lapse) {
        let answer = ChannelAnswer(
            answer,
            to: request.call.operation,
            self.connections[request.connection].streams.session,
            request.stream
        )
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
            self.fail(call, self.words.tooLong(call.operation, limit: self.limits.session.maximumBodyLength), answer)
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
    mutating func lost(_ request: ChannelRequest, _ fate: RequestStreams.Fate, _ error: ChannelWords.Lapse) {
        switch fate {
        case .answered(let answer): self.answered(request, answer, error)
        case .unknown: self.fail(request.call, error(self.words, request.call.operation, .unknown))
        case .unsent: self.notProcessed(request.call) { error($0, $1, .notProcessed) }
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
    package mutating func tick(now: Moment) {
        let deadline = self.deadline
        while let place = self.queue.firstIndex(where: { $0.deadline <= now.monotonic }) {
            let call = self.queue.remove(at: place)
            self.fail(call, self.words.timeout(call.operation, .notProcessed, after: deadline))
        }
        while let place = self.requests.firstIndex(where: { $0.call.deadline <= now.monotonic }) {
            // The connection gets no more requests: it may be dead.
            self.leave(self.requests[place].connection, now: now)
            self.requests[place].call.isOver = true
            self.withdraw(at: place) { $0.timeout($1, $2, after: deadline) }
        }
        if let idleSince, idleSince + Self.idleLimit <= now.monotonic, let id = self.connections.taking {
            self.leave(id, now: now)
        }
        for id in self.connections.ids {
            switch self.connections[id].tick(now: now) {
            case .nothing: break
            case .close, .dropForSettings: self.drop(id, now: now) { $0.timeout($1, $2, after: deadline) }
            case .dropForPing:
                self.drop(id, now: now) { $0.ended($1, .lost(.unansweredPing(peer: $0.peer)), $2) }
            }
        }
        self.finishIfDone(now: now)
    }
}
