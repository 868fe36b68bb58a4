internal import FerryCore

/// What a ``ReplayMachine`` wants done, in order.
package enum ReplayAction: Hashable {
    case send([UInt8])
    /// Say that nothing more will be sent, and go on reading.
    case halfClose
    /// Close in both directions, orderly.
    case end
    /// Close with a reset.
    case reset
    /// Call ``ReplayMachine/timePassed(at:)`` at that time.
    case wake(at: Duration)
}

/// One connection of a replay, without I/O: bytes, ends and time of the peer in, actions out.
///
/// The events of the connection are worked through in their order. One of the peer's waits until the peer has done it;
/// one of this side's is done when everything before it has happened, and its time has come.
///
/// ```
///             event of the peer: wait for it
///           ┌────────────────────────────────┐
///           ▼                                │
///        playing ── event of this side: ─────┘
///           │       send, half-close
///           │ error response, half-close, end or reset of this side
///           ▼
///        parting ── the peer may send what it likes, until it ends ──▶ finished
/// ```
///
/// What the peer sends ahead of the transcript's order is compared at once. After this side's last word nothing is
/// compared any more, because a peer that reads later has sent more: Apple's gateway discarded that, and so does this.
package struct ReplayMachine {
    /// A part of an event of this side.
    private struct Piece {
        var action: ReplayAction
        var due: Duration
    }

    let part: ReplayPart
    let mode: ReplayMode
    private let pace: Replay.Pace
    private var chaos: ChaosState
    private var reader: WireMessageReader
    /// The next event.
    private var cursor = 0
    /// When the last event happened, in the transcript and here.
    private var last: (recorded: Duration, actual: Duration)
    /// A slice, so that taking the first costs the same however many there are.
    private var pieces: ArraySlice<Piece> = []
    /// How many messages of the peer have come and were compared.
    private var received = 0
    private var peerHasEnded = false
    /// Whether the peer need not care any more.
    private var isParting = false
    private var hasEnded = false
    /// Recorded identifiers, and what the peer uses in their place, where that may vary.
    private var identifiers: [UInt32: UInt32] = [:]
    private var own: WireFields

    package init(_ part: ReplayPart, mode: ReplayMode, pace: Replay.Pace = .immediate, chaos: ReplayChaos? = nil) {
        self.part = part
        self.mode = mode
        self.pace = pace
        self.chaos = ChaosState(chaos)
        self.reader = WireMessageReader(part.service, sentBy: part.side.peer)
        self.own = WireFields(part.service, sentBy: part.side)
        self.last = (part.events.first?.time ?? .zero, .zero)
    }

    /// Whether all of the connection has been replayed.
    package var isFinished: Bool { self.hasEnded || self.cursor == self.part.events.count && self.pieces.isEmpty }

    /// The time of the transcript up to which everything has happened.
    package var position: Duration { self.last.recorded }

    /// How long the transcript waited for the next event.
    package var timeToNextEvent: Duration {
        self.cursor < self.part.events.count ? self.part.events[self.cursor].time - self.last.recorded : .zero
    }

    // MARK: Input

    /// The connection is established.
    package mutating func opened(at now: Duration) -> [ReplayAction] {
        self.last.actual = now
        return self.advance(now)
    }

    /// The peer sent bytes.
    package mutating func received(
        _ bytes: some Sequence<UInt8>,
        at now: Duration
    ) throws(ReplayMismatch) -> [ReplayAction] {
        var actions: [ReplayAction] = []
        for byte in bytes {
            guard let message = self.reader.next(byte) else { continue }
            try self.compare(message)
            actions += self.advance(now)
        }
        return actions
    }

    /// The peer will send nothing more: its end of stream, or a reset.
    package mutating func receivedEnd(at now: Duration) throws(ReplayMismatch) -> [ReplayAction] {
        self.peerHasEnded = true
        if !self.isParting {
            if self.received < self.part.expected.count {
                throw self.mismatch(self.part.expected[self.received], found: "the end of the stream")
            }
            guard self.reader.partial.bytes == self.part.expectedPartial.bytes || self.mode != .exact else {
                throw self.mismatch(self.part.expectedPartial, found: self.reader.partial)
            }
            if self.part.side == .client {
                // It was faster than recorded, and would have discarded what it had not read.
                self.isParting = true
            } else if let event = self.silenced() {
                throw self.mismatch(event, found: "the end of the stream before that")
            }
        }
        return self.advance(now)
    }

    /// A time that ``ReplayAction/wake(at:)`` named has come. Too early or too often does no harm.
    package mutating func timePassed(at now: Duration) -> [ReplayAction] { self.advance(now) }

    /// What is still to happen; nil when the connection was replayed to its end.
    package var missing: ReplayMismatch? {
        guard !self.isFinished else { return nil }
        if self.received < self.part.expected.count, !self.isParting {
            return self.mismatch(self.part.expected[self.received], found: "nothing")
        }
        let rest = self.part.events[self.cursor...]
        let isOptional = self.isParting && rest.allSatisfy { $0.sender == self.part.side.peer }
        guard !isOptional, let event = rest.first else { return nil }
        return self.mismatch(event, found: "nothing")
    }

    // MARK: The peer's side

    private mutating func compare(_ message: WireMessage) throws(ReplayMismatch) {
        guard !self.isParting else { return }
        guard self.received < self.part.expected.count else {
            // It has not yet read this side's last word.
            if self.hasLastWord { return }
            throw ReplayMismatch(
                line: 0,
                connection: self.part.connection,
                expected: "nothing more",
                found: message.summary,
                foundBytes: message.bytes
            )
        }
        let expected = self.part.expected[self.received]
        guard self.mode.matches(message, expected.message, from: self.part.side.peer) else {
            throw self.mismatch(expected, found: message)
        }
        if self.mode.varying.contains(.identifiers), let recorded = expected.message.identifier,
            let actual = message.identifier
        {
            self.identifiers[recorded] = actual
        }
        self.received += 1
    }

    /// Whether this side's last word comes next, and not behind an end of the peer's: what came before that was not sent
    /// in ignorance of the last word.
    private var hasLastWord: Bool {
        for event in self.part.events[self.cursor...] {
            switch event.kind {
            case .halfClose, .end, .reset: return event.sender == self.part.side
            case .bytes(let bytes) where event.sender == self.part.side && self.isGateway:
                // An error response. Status 0 is none.
                if bytes.dropFirst().first != BinaryStatus.noErrorsEncountered.rawValue { return true }
            case .open, .bytes: continue
            }
        }
        return false
    }

    private var isGateway: Bool { self.part.side == .server && self.part.service == .gateway }

    /// The first bytes of this side that were to come before the peer's end, which is here.
    private func silenced() -> Transcript.Event? {
        for event in self.part.events[self.cursor...] {
            switch event.kind {
            case .halfClose, .end, .reset: return nil
            case .bytes where event.sender == self.part.side: return event
            case .open, .bytes: continue
            }
        }
        return nil
    }

    private func hasHappened(_ event: Transcript.Event, at index: Int) -> Bool {
        switch event.kind {
        case .open: true
        case .bytes:
            self.isParting || self.received == self.part.expected.count
                || self.part.expected[self.received].event > index
        case .halfClose, .end, .reset: self.peerHasEnded
        }
    }

    // MARK: This side

    private mutating func advance(_ now: Duration) -> [ReplayAction] {
        var actions: [ReplayAction] = []
        while !self.hasEnded {
            while let piece = self.pieces.first {
                guard piece.due <= now else { return actions + [.wake(at: piece.due)] }
                self.pieces.removeFirst()
                actions.append(piece.action)
                if piece.action == .end || piece.action == .reset {
                    self.hasEnded = true
                    return actions
                }
            }
            guard self.cursor < self.part.events.count else { return actions }
            let event = self.part.events[self.cursor]
            if event.sender == self.part.side {
                let due = self.due(event, now)
                guard due <= now else { return actions + [.wake(at: due)] }
                self.play(event, now)
            } else if !self.hasHappened(event, at: self.cursor) {
                return actions
            }
            self.cursor += 1
            self.last = (event.time, now)
        }
        return actions
    }

    private func due(_ event: Transcript.Event, _ now: Duration) -> Duration {
        switch self.pace {
        case .immediate: now
        case .recorded: self.last.actual + (event.time - self.last.recorded)
        }
    }

    private mutating func play(_ event: Transcript.Event, _ now: Duration) {
        switch event.kind {
        case .open: break
        case .bytes where self.peerHasEnded && self.part.side == .client: break
        case .bytes(let bytes):
            let (pieces, isCut) = self.chaos.pieces(self.translate(bytes))
            self.add(pieces.map(ReplayAction.send), now)
            if isCut { self.part(with: .end, now) }
        case .halfClose: self.part(with: .halfClose, now)
        case .end: self.part(with: .end, now)
        case .reset: self.part(with: .reset, now)
        }
    }

    private mutating func part(with action: ReplayAction, _ now: Duration) {
        self.isParting = true
        self.add([action], now)
    }

    private mutating func add(_ actions: [ReplayAction], _ now: Duration) {
        var due = now
        for action in actions {
            due += self.chaos.delay()
            self.pieces.append(Piece(action: action, due: due))
        }
    }

    /// Puts the identifiers that the peer uses in the place of the recorded ones, where this side names one whole.
    private mutating func translate(_ bytes: [UInt8]) -> [UInt8] {
        guard self.isGateway else { return bytes }
        var bytes = bytes
        var status: UInt8 = 0
        var run: [Int] = []
        for (index, byte) in bytes.enumerated() {
            switch self.own.next(byte) {
            case .status:
                status = byte
                run = []
            case .identifier:
                run.append(index)
            default:
                run = []
            }
            guard run.count == 4 else { continue }
            let recorded = run.reduce(0) { $0 << 8 | UInt32(bytes[$1]) }
            if let actual = self.identifiers[recorded] {
                for (place, target) in run.enumerated() {
                    bytes[target] = UInt8(truncatingIfNeeded: actual >> (24 - 8 * place))
                }
            }
            // Status 0 is no error: the peer goes on.
            if status != BinaryStatus.noErrorsEncountered.rawValue { self.isParting = true }
        }
        return bytes
    }
}
