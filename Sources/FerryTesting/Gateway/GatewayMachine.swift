internal import FerryCore
internal import FerryBinary
package import NIOCore

/// What the owner of a ``GatewayMachine`` has to do, in order.
package enum GatewayAction: Hashable, Sendable {
    /// Write these bytes and flush.
    case write([UInt8])
    /// Say that nothing more will be written: close_notify, then a shutdown of the output. Go on reading.
    case closeOutput
    /// Close the connection in both directions.
    case close
    /// Close the connection with a reset.
    case reset
    /// Read nothing more.
    case stopReading
    /// Put this device on the feedback list, gone since that time in UNIX seconds; nil: since now.
    case gone(token: [UInt8], since: UInt32?)
    /// Call ``GatewayMachine/timePassed(at:)`` at that time.
    case wake(at: Duration)
}

/// The gateway's end of one connection, without I/O: bytes and time in, actions out.
///
/// ```
///                        ┌──────────┐ stopReading   ┌─────────┐
///     opened ───────────▶│ serving  │──────────────▶│ stalled │
///                        └──────────┘               └─────────┘
///        refused, or a rule │    ▲ status 0
///                           ▼    │
///                        ┌────────────┐ reset       ┌─────────┐
///                        │  waiting   │────────────▶│ closed  │
///                        └────────────┘             └─────────┘
///        the delay is over  │                            ▲ end of input, or linger is over
///                           ▼                            │
///                        ┌────────────┐                  │
///                        │ discarding │──────────────────┘
///                        └────────────┘
/// ```
///
/// From the moment of a refusal everything that arrives is discarded, as Apple did, also while the response is still on
/// its way. Time is a `Duration` since any fixed moment.
package struct GatewayMachine {
    private enum State {
        case serving
        /// The last word is decided; it is said at `due`.
        case waiting(LastWord, due: Duration)
        /// The last word is said.
        case discarding(until: Duration?)
        case stalled
        case closed
    }

    private enum LastWord {
        case response([UInt8])
        case reset
    }

    /// What became of what arrived.
    package struct Counts: Hashable, Sendable {
        package var accepted = 0
        /// Read whole and refused.
        package var refused = 0
        /// Bytes that came after the last word was decided.
        package var discardedBytes = 0
    }

    package private(set) var counts = Counts()
    private let rules: GatewayRules
    private let decoder: NotificationDecoder
    private let recorder: (any GatewayRecorder)?
    /// Whether no rule decides about single notifications and nobody records them.
    private let onlyCounts: Bool
    private let connection: Int
    private var state = State.serving
    /// A notification that is not complete.
    private var pending = ByteBuffer()
    private var place = 0
    private var lastAccepted: UInt32?
    /// When this many are accepted, a rule holds.
    private var nextCount: Int
    private var inputEnded = false
    /// Responses with status 0 that are still to come.
    private var notes: [(due: Duration, bytes: [UInt8])] = []

    /// - Parameters:
    ///   - rules: shared by all connections of a gateway.
    ///   - connection: the connection's number, for the record.
    ///   - recorder: gets what is accepted; without one it is only counted.
    package init(rules: GatewayRules, connection: Int = 1, recorder: (any GatewayRecorder)? = nil) {
        self.rules = rules
        self.decoder = NotificationDecoder(maximumPayloadLength: rules.script.payloadLimit)
        self.connection = connection
        self.recorder = recorder
        self.onlyCounts = recorder == nil && !rules.hasRulesAboutOne
        self.nextCount = rules.nextCount(from: 0) ?? .max
    }

    /// The connection is ready for notifications.
    package mutating func opened(at now: Duration) -> [GatewayAction] {
        var actions: [GatewayAction] = []
        self.checkCount(now, &actions)
        return actions
    }

    /// Bytes arrived.
    package mutating func received(_ bytes: consuming ByteBuffer, at now: Duration) -> [GatewayAction] {
        var actions: [GatewayAction] = []
        guard case .serving = self.state else {
            self.counts.discardedBytes += bytes.readableBytes
            return actions
        }
        if self.pending.readableBytes > 0 {
            self.pending.writeBuffer(&bytes)
            bytes = self.pending
            self.pending = ByteBuffer()
        }
        var offset = 0
        do {
            let span = bytes.readableBytesUInt8Span
            serving: while case .serving = self.state {
                switch self.decoder.decode(span.bytes, at: offset) {
                case .needMore:
                    break serving
                case .notification(let frame):
                    offset += frame.length
                    self.judge(frame, span, now, &actions)
                case .refused(let refusal):
                    offset += refusal.length
                    self.place += 1
                    self.counts.refused += 1
                    self.answer(refusal, now, &actions)
                case .violation:
                    self.end(with: .response([]), at: now, now, &actions)
                }
            }
        }
        bytes.moveReaderIndex(forwardBy: offset)
        if case .serving = self.state {
            // A buffer of which something was read is not kept: appending would never give that part back.
            self.pending = offset == 0 ? bytes : ByteBuffer(bytes: bytes.readableBytesView)
        } else {
            self.counts.discardedBytes += bytes.readableBytes
        }
        return actions
    }

    /// A time that ``GatewayAction/wake(at:)`` named has come. Too early or too often does no harm.
    package mutating func timePassed(at now: Duration) -> [GatewayAction] {
        var actions: [GatewayAction] = []
        while let note = self.notes.first, note.due <= now {
            actions.append(.write(note.bytes))
            self.notes.removeFirst()
        }
        switch self.state {
        case .waiting(let word, let due) where due <= now:
            self.say(word, now, &actions)
        case .discarding(let until?) where until <= now:
            self.state = .closed
            actions.append(.close)
        default:
            break
        }
        return actions
    }

    /// The client will send nothing more.
    package mutating func inputClosed() -> [GatewayAction] {
        switch self.state {
        case .serving, .discarding, .stalled:
            self.state = .closed
            return [.close]
        case .waiting:
            // A client that has only closed its output can still read the response.
            self.inputEnded = true
            return []
        case .closed:
            return []
        }
    }
}

extension GatewayMachine {
    @inline(__always)
    private mutating func judge(
        _ frame: NotificationFrame,
        _ span: Span<UInt8>,
        _ now: Duration,
        _ actions: inout [GatewayAction]
    ) {
        self.place += 1
        if self.onlyCounts {
            // A rule and a recorder cost reference counting even where there is none.
            self.counts.accepted += 1
            self.lastAccepted = frame.identifier
            self.checkCount(now, &actions)
        } else {
            self.judgeByRules(frame, span, now, &actions)
        }
    }

    private mutating func judgeByRules(
        _ frame: NotificationFrame,
        _ span: Span<UInt8>,
        _ now: Duration,
        _ actions: inout [GatewayAction]
    ) {
        var rule: GatewayRule?
        if self.rules.hasRulesAboutOne {
            rule = self.rules.rule(token: span.extracting(frame.token), place: self.place)
        }
        if let rule, !rule.accepts {
            self.counts.refused += 1
            self.apply(rule, command: frame.command, identifier: frame.identifier, now, &actions)
            return
        }
        self.counts.accepted += 1
        self.lastAccepted = frame.identifier
        if let recorder = self.recorder {
            let notification = AcceptedNotification(
                connection: self.connection,
                place: self.place,
                command: frame.command.rawValue,
                identifier: frame.identifier,
                expiration: frame.expiration,
                priority: frame.priority
            )
            let token = span.extracting(frame.token)
            recorder.accepted(notification, token: token, payload: span.extracting(frame.payload))
        }
        if let rule, rule.action == .gone {
            let token = span.extracting(frame.token).withUnsafeBufferPointer(Array.init)
            actions.append(.gone(token: token, since: rule.since))
        } else if let rule {
            self.apply(rule, command: frame.command, identifier: frame.identifier, now, &actions)
        }
        self.checkCount(now, &actions)
    }

    /// Applies the rule that holds now that so many were accepted.
    @inline(__always)
    private mutating func checkCount(_ now: Duration, _ actions: inout [GatewayAction]) {
        guard self.counts.accepted == self.nextCount, case .serving = self.state else { return }
        if let rule = self.rules.rule(after: self.nextCount) {
            self.apply(rule, command: nil, identifier: self.lastAccepted, now, &actions)
        }
        self.nextCount = self.rules.nextCount(from: self.nextCount + 1) ?? .max
    }

    private mutating func apply(
        _ rule: GatewayRule,
        command: Command?,
        identifier: UInt32?,
        _ now: Duration,
        _ actions: inout [GatewayAction]
    ) {
        let due = now + (rule.delay ?? self.rules.script.errorDelay)
        switch rule.action {
        case .gone:
            break
        case .stopReading:
            self.state = .stalled
            actions.append(.stopReading)
        case .close:
            self.end(with: .response([]), at: due, now, &actions)
        case .reset:
            self.end(with: .reset, at: due, now, &actions)
        case .respond:
            let status = BinaryStatus(rawValue: rule.status)
            let named = rule.identifier ?? identifier ?? 0
            let whole = rule.bytes ?? ErrorResponse(status: status, identifier: named).bytes
            let bytes = Array(whole.prefix(rule.length ?? whole.count))
            if status == .noErrorsEncountered && rule.bytes == nil && rule.length == nil {
                self.note(bytes, at: due, now, &actions)
            } else {
                // "Failures of command 0 are always a plain close."
                self.end(with: .response(command == .simple ? [] : bytes), at: due, now, &actions)
            }
        }
    }

    /// Answers a faulty notification as documented. One without an identifier is named 0.
    private mutating func answer(_ refusal: NotificationRefusal, _ now: Duration, _ actions: inout [GatewayAction]) {
        let response = ErrorResponse(status: refusal.status, identifier: refusal.identifier ?? 0)
        let word = LastWord.response(refusal.command == .simple ? [] : response.bytes)
        self.end(with: word, at: now + self.rules.script.errorDelay, now, &actions)
    }

    private mutating func note(
        _ bytes: [UInt8],
        at due: Duration,
        _ now: Duration,
        _ actions: inout [GatewayAction]
    ) {
        guard due > now else { return actions.append(.write(bytes)) }
        let index = self.notes.firstIndex { $0.due > due } ?? self.notes.count
        self.notes.insert((due, bytes), at: index)
        actions.append(.wake(at: due))
    }

    private mutating func end(
        with word: LastWord,
        at due: Duration,
        _ now: Duration,
        _ actions: inout [GatewayAction]
    ) {
        self.pending = ByteBuffer()
        guard due > now else { return self.say(word, now, &actions) }
        self.state = .waiting(word, due: due)
        actions.append(.wake(at: due))
    }

    private mutating func say(_ word: LastWord, _ now: Duration, _ actions: inout [GatewayAction]) {
        switch word {
        case .reset:
            self.state = .closed
            actions.append(.reset)
        case .response(let bytes):
            if !bytes.isEmpty { actions.append(.write(bytes)) }
            if self.inputEnded {
                self.state = .closed
                actions.append(.close)
            } else if self.rules.script.keepsOpen && !bytes.isEmpty {
                self.state = .discarding(until: nil)
            } else {
                let until = now + self.rules.script.linger
                self.state = .discarding(until: until)
                actions += [.closeOutput, .wake(at: until)]
            }
        }
    }
}
