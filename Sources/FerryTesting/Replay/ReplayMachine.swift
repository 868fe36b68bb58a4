internal import FerryCore

/// The actions that the owner of a ``ReplayMachine`` must perform, in order.
package enum ReplayAction: Hashable {
    case send([UInt8])
    /// End the output, and go on reading.
    case halfClose
    /// Close both directions, with close_notify under TLS.
    case end
    /// Close with a reset.
    case reset
    /// Call ``ReplayMachine/timePassed(at:)`` at that time.
    case wake(at: Duration)
}

/// The machine of one connection of a replay, without I/O. The peer's bytes and ends, and the time, go in; actions come
/// out.
///
/// The machine processes the connection's events in order. At an event of the peer, it waits until the peer has done
/// it. An event of this side is performed when all events before it have happened and its time has come.
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
/// Bytes that the peer sends earlier than in the transcript are compared at once. After this side's error response or
/// end, nothing is compared: a peer that reads the end later than the recorded peer sends more bytes. Apple's gateway
/// discarded such bytes, and so does the machine.
package struct ReplayMachine {
    /// A piece of an event of this side.
    private struct Piece {
        var action: ReplayAction
        var due: Duration
    }

    let part: ReplayPart
    let mode: ReplayMode
    private let pace: Replay.Pace
    private var chaos: ChaosState
    private var reader: WireMessageReader
    /// The index of the next event.
    private var cursor = 0
    /// The time of the last event, in the transcript and in this replay.
    private var last: (recorded: Duration, actual: Duration)
    /// The pieces to send. In a slice, removing the first costs O(1).
    private var pieces: ArraySlice<Piece> = []
    /// The number of the peer's messages that have arrived and were compared.
    private var received = 0
    private var peerHasEnded = false
    /// True if the peer may now send anything.
    private var isParting = false
    private var hasEnded = false
    /// The peer's identifiers by the recorded ones, if identifiers may vary.
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

    /// True if the whole connection has been replayed.
    package var isFinished: Bool { self.hasEnded || self.cursor == self.part.events.count && self.pieces.isEmpty }

    /// The number of events that have happened.
    package var eventCount: Int { self.hasEnded ? self.part.events.count : self.cursor }

    /// The time in the transcript of the last event that has happened.
    package var position: Duration { self.last.recorded }

    /// The time between the last event and the next one in the transcript.
    package var timeToNextEvent: Duration {
        self.cursor < self.part.events.count ? self.part.events[self.cursor].time - self.last.recorded : .zero
    }

    // MARK: Input

    /// Takes the news that the connection is established.
    package mutating func opened(at now: Duration) -> [ReplayAction] {
        self.last.actual = now
        return self.advance(now)
    }

    /// Takes bytes of the peer.
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

    /// Takes the peer's end of stream, or its reset.
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
                // The server ended earlier than recorded. It would discard the client's remaining bytes, so they need
                // not be sent.
                self.isParting = true
            } else if let event = self.silenced() {
                throw self.mismatch(event, found: "the end of the stream before that")
            }
        }
        return self.advance(now)
    }

    /// Takes the news that a time of ``ReplayAction/wake(at:)`` has come. Extra or early calls do no harm.
    package mutating func timePassed(at now: Duration) -> [ReplayAction] { self.advance(now) }

    /// The first event that has not happened; nil if the connection was replayed to its end.
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

    // MARK: What the peer sends

    private mutating func compare(_ message: WireMessage) throws(ReplayMismatch) {
        guard !self.isParting else { return }
        guard self.received < self.part.expected.count else {
            // The peer sent this before it could read this side's error response or end.
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

    /// True if this side's error response or end comes before any recorded end of the peer. Only then can the peer,
    /// which has not yet read it, send more than recorded.
    private var hasLastWord: Bool {
        for event in self.part.events[self.cursor...] {
            switch event.kind {
            case .halfClose, .end, .reset: return event.sender == self.part.side
            case .bytes(let bytes) where event.sender == self.part.side && self.isGateway:
                // Status 0 is no error: the connection goes on.
                if bytes.dropFirst().first != BinaryStatus.noErrorsEncountered.rawValue { return true }
            case .open, .bytes: continue
            }
        }
        return false
    }

    private var isGateway: Bool { self.part.side == .server && self.part.service == .gateway }

    /// Returns the first bytes of this side that the transcript has before the peer's end. The peer has ended without
    /// waiting for them.
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

    /// Replaces the recorded identifiers in this side's error responses by those of the peer. An identifier is replaced
    /// only if all its four bytes are in `bytes`.
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
