internal import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import NIOCore

// The answers to single requests, and the rules for them.
extension APNsMachine {
    /// Judges a request that has arrived completely.
    mutating func judge(_ stream: HTTP2Session.Stream, _ now: Moment, _ actions: inout [APNsAction]) {
        let streamID = self.session.streamID(of: stream)
        // The stream was closed meanwhile, or is above the last stream of a GOAWAY.
        guard streamID > 0, streamID <= self.lastStreamID else { return }
        self.place += 1
        self.collect(stream)
        if let fault = self.fault(stream, now) {
            self.reply(APNsAnswer(fault), to: stream, place: self.place)
            return self.checkRefusals(now, &actions)
        }
        guard let rule = self.takeRule() else { return self.accept(stream, now, &actions) }
        if rule.concernsRequest {
            self.begin(rule, stream, now)
            return self.checkRefusals(now, &actions)
        }
        switch rule.action {
        case .settings, .slowWindow: self.accept(stream, now, &actions)
        case .goAway where rule.lastStream != .none: self.accept(stream, now, &actions)
        default: self.counts.unanswered += 1
        }
        self.begin(rule, now, &actions)
    }

    private mutating func fault(_ stream: HTTP2Session.Stream, _ now: Moment) -> Reason? {
        if let channel { return self.fault(of: channel, stream, now) }
        return self.check.fault(of: &self.request, bodyLength: self.bodyLength(of: stream), now: now)
    }

    /// Returns the rule that applies to the request, if there is one.
    private mutating func takeRule() -> HTTP2Rule? {
        if let rule = self.waitingRule {
            self.waitingRule = nil
            return rule
        }
        guard self.rules.hasRulesAboutOne else { return nil }
        return self.rules.rule(
            token: self.request.token,
            channel: self.channel?.validAction,
            place: self.place,
            isEarly: false
        )
    }

    /// Applies a rule to a request, after the rule's delay.
    private mutating func begin(_ rule: HTTP2Rule, _ stream: HTTP2Session.Stream, _ now: Moment) {
        if let delay = rule.delay, delay > .zero {
            self.agenda.add(.answer(rule, stream, place: self.place), at: now.monotonic + TimeAmount(delay))
        } else {
            self.answer(stream, by: rule, place: self.place, now)
        }
    }

    /// Answers a request before its body has arrived, if a rule demands it.
    mutating func answerEarly(_ stream: HTTP2Session.Stream, _ now: Moment) {
        let streamID = self.session.streamID(of: stream)
        guard streamID > 0, streamID <= self.lastStreamID else { return }
        self.collect(stream)
        _ = self.request.decodeToken()
        let isWaiting = self.waitingRule?.action == .earlyAnswer
        let found =
            isWaiting
            ? self.waitingRule
            : self.rules.rule(
                token: self.request.token,
                channel: self.channel?.validAction,
                place: self.place + 1,
                isEarly: true
            )
        guard let rule = found else { return }
        if isWaiting { self.waitingRule = nil }
        self.place += 1
        self.answeredEarly.insert(stream)
        self.begin(rule, stream, now)
    }

    /// Applies a rule to a request now.
    mutating func answer(_ stream: HTTP2Session.Stream, by rule: HTTP2Rule, place: Int, _ now: Moment) {
        let streamID = self.session.streamID(of: stream)
        guard streamID > 0, streamID <= self.lastStreamID else { return }
        // Collect the fields again: other requests may have replaced them during the delay.
        self.collect(stream)
        _ = self.request.decodeToken()
        switch rule.action {
        case .refuseStream:
            self.counts.unanswered += 1
            self.session.reset(stream, errorCode: rule.errorCode ?? HTTP2ErrorCode.refusedStream.rawValue)
        case .silence:
            self.counts.unanswered += 1
        case .resetAfterHeaders:
            var answer = rule.answer(now: now.epochSeconds, isAboutChannels: self.channel != nil)
            if rule.status == nil, rule.reason == nil { answer = .accepted }
            _ = self.carryOut(answer, stream, place: place)
            // Fails only on a stream that is closed already, which needs no answer.
            try? self.session.beginResponse(to: stream, self.block)
            self.resets.append((stream, rule.errorCode ?? HTTP2ErrorCode.internalError.rawValue))
        case .loseAnswer:
            _ = self.carryOut(.accepted, stream, place: place)
            self.session.reset(stream, errorCode: rule.errorCode ?? HTTP2ErrorCode.internalError.rawValue)
        case .respond, .earlyAnswer:
            let answer = rule.answer(now: now.epochSeconds, isAboutChannels: self.channel != nil)
            self.reply(answer, to: stream, place: place)
        case .goAway, .settings, .slowWindow, .close, .reset, .stopReading:
            break
        }
    }

    /// Accepts a request, then applies the rule that holds at the new count.
    private mutating func accept(_ stream: HTTP2Session.Stream, _ now: Moment, _ actions: inout [APNsAction]) {
        self.reply(.accepted, to: stream, place: self.place)
        self.checkCount(now, &actions)
    }

    private mutating func reply(_ answer: APNsAnswer, to stream: HTTP2Session.Stream, place: Int) {
        let body = self.carryOut(answer, stream, place: place)
        // Fails only on a stream that is closed already, which needs no answer.
        try? self.session.respond(to: stream, self.block, body: body)
    }

    /// Carries out, counts and records a request whose fields were collected. Builds the fields of its answer, and returns
    /// the body.
    private mutating func carryOut(_ answer: APNsAnswer, _ stream: HTTP2Session.Stream, place: Int) -> [UInt8] {
        guard let channel else {
            self.count(answer.isAccepted, stream)
            if answer.status != 410 { self.countRefusal(!answer.isAccepted, stream) }
            if answer.isAccepted, let recorder = self.recorder { self.record(stream, place, recorder) }
            self.fill(with: answer)
            return answer.body
        }
        let reply = self.carryOut(channel, answer, stream)
        self.count(reply.answer.reason == nil, stream)
        if channel.validAction == .broadcast, reply.answer.isAccepted, let recorder = self.recorder {
            self.record(stream, place, recorder)
        }
        self.fill(with: reply)
        return reply.body
    }

    private mutating func count(_ isAccepted: Bool, _ stream: HTTP2Session.Stream) {
        guard isAccepted else {
            self.counts.rejected += 1
            return
        }
        self.counts.accepted += 1
        self.lastAccepted = max(self.lastAccepted, self.session.streamID(of: stream))
        if !self.isWarm {
            self.isWarm = true
            self.session.update(maxConcurrentStreams: UInt32(clamping: self.rules.script.maxConcurrentStreams))
        }
    }

    private mutating func countRefusal(_ isRefused: Bool, _ stream: HTTP2Session.Stream) {
        self.refusedInARow = isRefused ? self.refusedInARow + 1 : 0
        self.isRefusalNew = isRefused
        if isRefused { self.lastRefused = max(self.lastRefused, self.session.streamID(of: stream)) }
    }

    private func record(_ stream: HTTP2Session.Stream, _ place: Int, _ recorder: any APNsRecorder) {
        var accepted = AcceptedRequest(self.request, connection: self.connection, place: place)
        if let channel { accepted.topic = channel.bundleID }
        self.session.withBody(of: stream) { payload in
            recorder.accepted(accepted, token: self.request.token.span, payload: payload.span)
        }
    }

    /// Builds the fields of the answer to the collected request.
    private mutating func fill(with answer: APNsAnswer) {
        self.block.clear()
        if answer.isAccepted {
            self.block.append(":status", "200")
        } else {
            self.block.append(":status", UInt64(clamping: answer.status))
            if let seconds = answer.retryAfter { self.block.append("retry-after", UInt64(clamping: seconds)) }
            self.block.append("content-type", "application/json")
        }
        if let id = self.request[.id], id.count == APNSID.textLength {
            self.block.append("apns-id", id, .literal)
        } else {
            self.appendRandomID("apns-id")
        }
        if self.rules.script.hasUniqueID { self.appendRandomID("apns-unique-id") }
    }

    mutating func appendRandomID(_ name: StaticString) {
        let id = APNSID.random(using: &self.random)
        self.block.append(name, upTo: APNSID.textLength, .literal) { target in
            id.writeText(to: UnsafeMutableBufferPointer(start: target, count: APNSID.textLength))
            return APNSID.textLength
        }
    }

    /// Returns the length of a body in bytes. If the session has truncated the body, returns the kept bytes plus 1.
    func bodyLength(of stream: HTTP2Session.Stream) -> Int {
        self.session.withBody(of: stream) { $0.count } + (self.session.isBodyTruncated(stream) ? 1 : 0)
    }

    private mutating func collect(_ stream: HTTP2Session.Stream) {
        Self.collect(self.session, stream, into: &self.request)
        self.channel = APNsChannelRequest(self.request)
    }

    private static func collect(
        _ session: borrowing HTTP2Session,
        _ stream: HTTP2Session.Stream,
        into request: inout APNsRequest
    ) {
        request.clear()
        session.forEachField(of: stream) { name, value in request.add(name, value) }
    }
}
