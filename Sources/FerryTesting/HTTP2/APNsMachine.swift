internal import FerryCore
package import FerryHTTP2
package import FerryMachine
package import NIOCore

/// The actions that the owner of an ``APNsMachine`` must perform, in order.
package enum APNsAction: Hashable, Sendable {
    /// Close the connection with a reset.
    case reset
    /// Stop reading.
    case stopReading
    /// Call ``APNsMachine/timePassed(at:)`` at that time.
    case wake(at: NIODeadline)
}

/// The machine of one connection of a simulated APNs, without I/O. Bytes and time go in, bytes and actions come out.
///
/// ```
///                ┌─────────┐ stopReading    ┌─────────┐
///     init ─────▶│ serving │───────────────▶│ stalled │
///                └─────────┘                └─────────┘
///                  │     │                       │ end: `ending`
///                  │     │ reset            ┌─────────┐
///                  │     └─────────────────▶│ closed  │
///      close, end, │                        └─────────┘
///      violation   ▼
///                ┌─────────┐
///                │ ending  │ until all is written: see `isOver`
///                └─────────┘
/// ```
///
/// A GOAWAY does not change the state: requests up to its last stream are served as before. The session says when the
/// last of them is done.
///
/// After every call with input, the owner must call ``write(into:atMost:)`` until it returns false. Then the owner must
/// close the connection if ``isOver``. The session keeps answers that are not yet written. Its limit of streams bounds
/// them.
package struct APNsMachine: ~Copyable {
    enum State {
        case serving, ending, stalled, closed
    }

    /// The tasks of the agenda.
    enum Later {
        /// Judge and answer a request.
        case judge(HTTP2Session.Stream)
        /// Apply a rule to a request.
        case answer(HTTP2Rule, HTTP2Session.Stream, place: Int)
        /// Apply a rule to the connection.
        case perform(HTTP2Rule)
        /// End a rule's hold on the window.
        case openWindow
    }

    /// The counts of the requests and faults of the connection. ``APNsCounts`` explains them.
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
    /// The channels, which all connections share.
    let channels: ChannelTable
    let connection: Int
    var state = State.serving
    var session: HTTP2Session
    var request = APNsRequest()
    /// What the collected request asks for, if it is about channels.
    var channel: APNsChannelRequest?
    var block = HeaderBlock()
    var check: APNsRequestCheck
    var random = SplitMix64(seed: .random(in: .min ... .max))
    /// The number of requests that were judged or answered early.
    var place = 0
    /// The highest stream whose request was accepted.
    var lastAccepted: Int32 = 0
    /// The requests that were refused since the last one that was not.
    var refusedInARow = 0
    /// Whether the last request was refused, and no rule was looked for since.
    var isRefusalNew = false
    /// The stream of the last refused request.
    var lastRefused: Int32 = 0
    /// The lowest last stream of all GOAWAYs that were sent.
    var lastStreamID = Int32.max
    var closesWhenDone = true
    /// False during the cold start: until its first accepted request, the connection may have only one request at a
    /// time.
    var isWarm: Bool
    /// The number of accepted requests at which the next rule may hold.
    var nextCount: Int
    /// The rule that is applied to the next valid request.
    var waitingRule: HTTP2Rule?
    /// The streams that were answered before their request was complete, until it is complete.
    var answeredEarly: Set<HTTP2Session.Stream> = []
    /// The streams to reset when everything else is written. With an earlier reset, libnghttp2 would drop the fields
    /// that were not yet written on the stream.
    var resets: [(stream: HTTP2Session.Stream, errorCode: UInt32)] = []
    /// The tasks, by time.
    var agenda = Agenda<Later>()
    /// The number of bytes by which a used-up window is opened while a rule slows it down; nil: no rule does.
    var slowWindow: Int?

    /// Creates the machine of a connection whose handshake is done.
    ///
    /// - Parameters:
    ///   - rules: the script's rules, shared by all connections.
    ///   - connection: the connection's number, for the recorder.
    ///   - certificateTopics: the topics of the client's certificate; nil if the client showed no certificate.
    ///   - keys: the keys that sign valid provider tokens.
    ///   - channels: the channels, which all connections share.
    ///   - recorder: the recorder of accepted requests. Nil: they are only counted.
    package init(
        rules: HTTP2Rules,
        connection: Int = 1,
        certificateTopics: [String]? = nil,
        keys: [ProviderTokenVerifier.Key] = [],
        channels: ChannelTable = ChannelTable(),
        recorder: (any APNsRecorder)? = nil
    ) throws(HTTP2Error) {
        let script = rules.script
        let needsToken = script.requiresToken && certificateTopics == nil
        let isCold = script.coldStart && needsToken
        var settings = HTTP2Session.Settings()
        settings.maxConcurrentStreams = isCold ? 1 : UInt32(clamping: script.maxConcurrentStreams)
        settings.maximumBodyLength = max(script.payloadLimit ?? 0, PayloadLimit.voip)
        if rules.hasSlowWindows {
            // Make the streams' windows unlimited: only the connection's window may hold requests up.
            settings.updatesWindows = false
            settings.initialWindowSize = UInt32(Int32.max)
        }
        self.session = try HTTP2Session(role: .server, settings: settings)
        self.rules = rules
        self.connection = connection
        self.channels = channels
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

    /// Takes the news that the connection is ready for requests.
    package mutating func opened(at now: Moment) -> [APNsAction] {
        var actions: [APNsAction] = []
        self.checkCount(now, &actions)
        self.scheduleWake(&actions)
        return actions
    }

    /// Takes bytes that arrived.
    package mutating func received(_ bytes: ByteBuffer, at now: Moment) -> [APNsAction] {
        var actions: [APNsAction] = []
        guard self.state == .serving else { return actions }
        do throws(HTTP2Error) {
            try bytes.withUnsafeReadableBytes { bytes throws(HTTP2Error) in try self.session.receive(bytes) }
            self.readEvents(now, &actions)
        } catch {
            // The requests before the violation are valid.
            self.readEvents(now, &actions)
            self.violated()
        }
        self.openWindow()
        self.scheduleWake(&actions)
        return actions
    }

    /// Takes the news that a time of ``APNsAction/wake(at:)`` has come. Extra or early calls do no harm.
    package mutating func timePassed(at now: Moment) -> [APNsAction] {
        var actions: [APNsAction] = []
        while self.state == .serving, let next = self.agenda.next(at: now.monotonic) {
            switch next {
            case .judge(let stream): self.judge(stream, now, &actions)
            case .answer(let rule, let stream, let place):
                self.answer(stream, by: rule, place: place, now)
                self.checkRefusals(now, &actions)
            case .perform(let rule): self.perform(rule, now, &actions)
            case .openWindow: self.slowWindow = nil
            }
        }
        self.openWindow()
        self.scheduleWake(&actions)
        return actions
    }

    /// Takes the news that the client sends nothing more.
    package mutating func inputClosed() {
        if self.state != .closed { self.state = .ending }
    }

    /// Writes pending bytes to `buffer` until there are at least `limit` or no more. Returns false if there were no
    /// pending bytes.
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

    /// True if the owner must close the connection. Valid after ``write(into:atMost:)`` has returned false.
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

    /// Ends the connection: the client broke the protocol.
    private mutating func violated() {
        guard self.state == .serving else { return }
        self.counts.violations += 1
        self.state = .ending
    }

    /// Forgets a stream that was closed with an error, such as a client's RST_STREAM, and drops its tasks.
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

    /// Asks the owner for the next wake-up, unless it was asked for before.
    private mutating func scheduleWake(_ actions: inout [APNsAction]) {
        guard self.state == .serving, let time = self.agenda.newWake() else { return }
        actions.append(.wake(at: time))
    }
}
