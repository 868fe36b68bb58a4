internal import FerryCore
package import FerryHTTP2
package import FerryMachine
package import NIOCore

/// What the owner of an ``APNsMachine`` has to do, in order.
package enum APNsAction: Hashable, Sendable {
    /// Close the connection with a reset.
    case reset
    /// Read nothing more.
    case stopReading
    /// Call ``APNsMachine/timePassed(at:)`` at that time.
    case wake(at: NIODeadline)
}

/// APNs' end of one connection, without I/O: bytes and time in; bytes and actions out.
///
/// ```
///                ┌─────────┐ stopReading    ┌─────────┐
///     init ─────▶│ serving │───────────────▶│ stalled │
///                └─────────┘                └─────────┘
///                  │     │ reset            ┌─────────┐
///                  │     └─────────────────▶│ closed  │
///      close, end, │                        └─────────┘
///      violation   ▼
///                ┌─────────┐
///                │ ending  │ until all is written: see `isOver`
///                └─────────┘
/// ```
///
/// A GOAWAY is no state: requests up to its last stream are served as before, and the session says when it is over.
///
/// After every call that takes input the owner calls ``write(into:atMost:)`` until there is nothing, and closes the
/// connection if ``isOver``. What is answered and not yet fetched stays in the session, whose streams are limited.
package struct APNsMachine: ~Copyable {
    enum State {
        case serving, ending, stalled, closed
    }

    /// What happens at its time.
    enum Later {
        /// Look at a request, and answer it.
        case judge(HTTP2Session.Stream)
        /// Do to a request what a rule wants.
        case answer(HTTP2Rule, HTTP2Session.Stream, place: Int)
        /// Do to the connection what a rule wants.
        case perform(HTTP2Rule)
        /// A rule's hold on the window is over.
        case openWindow
    }

    /// What became of what arrived.
    package struct Counts: Hashable, Sendable {
        package var accepted = 0
        package var rejected = 0
        package var unanswered = 0
        package var goAways = 0
        package var violations = 0
    }

    package internal(set) var counts = Counts()
    let rules: HTTP2Rules
    let recorder: (any APNsRecorder)?
    let connection: Int
    var state = State.serving
    var session: HTTP2Session
    var request = APNsRequest()
    var block = HeaderBlock()
    var check: APNsRequestCheck
    var random = SplitMix64(seed: .random(in: .min ... .max))
    /// Requests that were looked at.
    var place = 0
    /// The highest stream whose request was accepted.
    var lastAccepted: Int32 = 0
    /// What a GOAWAY said.
    var lastStreamID = Int32.max
    var closesWhenDone = true
    /// Whether the connection has had the one request of the cold start.
    var isWarm: Bool
    /// When this many are accepted, a rule may hold.
    var nextCount: Int
    /// Done to the next request that is valid.
    var waitingRule: HTTP2Rule?
    /// Those that were answered before they were whole, until they are.
    var answeredEarly: Set<HTTP2Session.Stream> = []
    /// Streams that are reset when everything else is written: libnghttp2 drops what was said on a stream before.
    var resets: [(stream: HTTP2Session.Stream, errorCode: UInt32)] = []
    /// By time.
    var agenda = Agenda<Later>()
    /// Of a window that is held shut: the bytes by which it is opened when it is used up.
    var slowWindow: Int?

    /// A connection whose handshake is done.
    ///
    /// - Parameters:
    ///   - rules: shared by all connections.
    ///   - connection: the connection's number, for the record.
    ///   - certificateTopics: what the client's certificate may push to; nil without a certificate.
    ///   - keys: by which provider tokens are signed.
    ///   - recorder: gets what is accepted; without one it is only counted.
    package init(
        rules: HTTP2Rules,
        connection: Int = 1,
        certificateTopics: [String]? = nil,
        keys: [ProviderTokenVerifier.Key] = [],
        recorder: (any APNsRecorder)? = nil
    ) throws(HTTP2Error) {
        let script = rules.script
        let needsToken = script.requiresToken && certificateTopics == nil
        let isCold = script.coldStart && needsToken
        var settings = HTTP2Session.Settings()
        settings.maxConcurrentStreams = isCold ? 1 : UInt32(clamping: script.maxConcurrentStreams)
        settings.maximumBodyLength = max(script.payloadLimit ?? 0, PushTypeRules.voipPayloadLimit)
        if rules.hasSlowWindows {
            // Only the connection's window is to hold anything up.
            settings.updatesWindows = false
            settings.initialWindowSize = UInt32(Int32.max)
        }
        self.session = try HTTP2Session(role: .server, settings: settings)
        self.rules = rules
        self.connection = connection
        self.recorder = recorder
        self.isWarm = !isCold
        self.check = APNsRequestCheck(
            script: script,
            certificateTopics: certificateTopics,
            authorization: needsToken
                ? APNsAuthorization(keys: keys, updateInterval: script.tokenUpdateInterval) : nil
        )
        self.nextCount = rules.nextCount(from: 0) ?? .max
    }

    /// The connection is ready for requests.
    package mutating func opened(at now: Moment) -> [APNsAction] {
        var actions: [APNsAction] = []
        self.checkCount(now, &actions)
        self.scheduleWake(&actions)
        return actions
    }

    /// Bytes arrived.
    package mutating func received(_ bytes: ByteBuffer, at now: Moment) -> [APNsAction] {
        var actions: [APNsAction] = []
        guard self.state == .serving else { return actions }
        do throws(HTTP2Error) {
            try bytes.withUnsafeReadableBytes { bytes throws(HTTP2Error) in try self.session.receive(bytes) }
            self.readEvents(now, &actions)
        } catch {
            // What came before counts.
            self.readEvents(now, &actions)
            self.violated()
        }
        self.openWindow()
        self.scheduleWake(&actions)
        return actions
    }

    /// A time that ``APNsAction/wake(at:)`` named has come. Too early or too often does no harm.
    package mutating func timePassed(at now: Moment) -> [APNsAction] {
        var actions: [APNsAction] = []
        while self.state == .serving, let next = self.agenda.next(at: now.monotonic) {
            switch next {
            case .judge(let stream): self.judge(stream, now, &actions)
            case .answer(let rule, let stream, let place): self.answer(stream, by: rule, place: place, now)
            case .perform(let rule): self.perform(rule, now, &actions)
            case .openWindow: self.slowWindow = nil
            }
        }
        self.openWindow()
        self.scheduleWake(&actions)
        return actions
    }

    /// The client will send nothing more.
    package mutating func inputClosed() {
        if self.state != .closed { self.state = .ending }
    }

    /// Writes what there is to say to `buffer`, until `limit` bytes are passed; whether that was anything.
    package mutating func write(into buffer: inout ByteBuffer, atMost limit: Int) -> Bool {
        guard self.state == .serving || self.state == .ending else { return false }
        var isWritten = self.session.write(into: &buffer, atMost: limit)
        if !self.resets.isEmpty, !self.session.wantsToWrite {
            for reset in self.resets { self.session.reset(reset.stream, errorCode: reset.errorCode) }
            self.resets = []
            isWritten = self.session.write(into: &buffer, atMost: limit) || isWritten
        }
        while let event = self.session.nextEvent() { self.forget(event) }
        if self.session.isViolated { self.violated() }
        return isWritten
    }

    /// Whether the connection is to be closed, now that everything is written.
    package var isOver: Bool {
        switch self.state {
        case .serving: self.session.isOver && self.closesWhenDone
        case .ending: !self.session.wantsToWrite
        case .stalled, .closed: false
        }
    }
}

extension APNsMachine {
    private mutating func readEvents(_ now: Moment, _ actions: inout [APNsAction]) {
        let delay = self.rules.script.answerDelay
        while let event = self.session.nextEvent() {
            switch event {
            case _ where self.state != .serving:
                break
            case .headers(let stream, _) where self.rules.hasEarlyAnswers:
                self.answerEarly(stream, now)
            case .ended(let stream) where self.rules.hasEarlyAnswers && self.answeredEarly.remove(stream) != nil:
                break
            case .ended(let stream):
                if delay == .zero {
                    self.judge(stream, now, &actions)
                } else {
                    self.agenda.add(.judge(stream), at: now.monotonic + TimeAmount(delay))
                }
            default:
                self.forget(event)
            }
        }
    }

    /// The client broke the protocol.
    private mutating func violated() {
        guard self.state == .serving else { return }
        self.counts.violations += 1
        self.state = .ending
    }

    /// Forgets a stream that the client has ended before its answer.
    private mutating func forget(_ event: HTTP2Session.Event) {
        guard case .closed(let stream, let errorCode) = event, errorCode != 0 else { return }
        if self.rules.hasEarlyAnswers { self.answeredEarly.remove(stream) }
        self.agenda.removeAll { later in
            switch later {
            case .judge(stream), .answer(_, stream, _): true
            default: false
            }
        }
    }

    /// Names the next time at which there is something to do, if it was not named before.
    private mutating func scheduleWake(_ actions: inout [APNsAction]) {
        guard self.state == .serving, let time = self.agenda.newWake() else { return }
        actions.append(.wake(at: time))
    }
}
