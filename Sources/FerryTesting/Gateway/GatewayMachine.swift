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

/// The simulated gateway's end of one connection, without I/O: bytes and time in, actions out.
///
/// A `BinaryServerConnection` reads and ends; a ``ScriptedJudge`` decides; this delays what was decided as the script
/// says. Time is a `Duration` since any fixed moment.
package struct GatewayMachine {
    /// What became of what arrived.
    package struct Counts: Hashable, Sendable {
        package var accepted = 0
        /// Read whole and refused.
        package var refused = 0
        /// Bytes that came after the last word was decided.
        package var discardedBytes = 0
    }

    private let script: GatewayScript
    private var connection: BinaryServerConnection
    private var judge: ScriptedJudge
    /// Responses with status 0 that are still to come, soonest first.
    private var notes: [(due: Duration, bytes: [UInt8])] = []
    /// What ends the connection, while it is still to come.
    private var ending: (due: Duration, word: ScriptedJudge.LastWord)?

    /// - Parameters:
    ///   - rules: shared by all connections of a gateway.
    ///   - connection: the connection's number, for the record.
    ///   - recorder: gets what is accepted; without one it is only counted.
    package init(rules: GatewayRules, connection: Int = 1, recorder: (any GatewayRecorder)? = nil) {
        self.script = rules.script
        self.connection = BinaryServerConnection(
            NotificationDecoder(maximumPayloadLength: rules.script.payloadLimit),
            linger: TimeAmount(rules.script.linger)
        )
        self.judge = ScriptedJudge(rules: rules, connection: connection, recorder: recorder)
    }

    package var counts: Counts {
        Counts(
            accepted: self.judge.accepted,
            refused: self.judge.refused,
            discardedBytes: self.connection.discardedBytes
        )
    }

    /// The connection is ready for notifications.
    package mutating func opened(at now: Duration) -> [GatewayAction] {
        var verdicts: [ScriptedJudge.Verdict] = []
        self.judge.checkCount(&verdicts)
        return self.carryOut(verdicts, now)
    }

    /// Bytes arrived.
    package mutating func received(_ bytes: consuming ByteBuffer, at now: Duration) -> [GatewayAction] {
        var verdicts: [ScriptedJudge.Verdict] = []
        self.connection.received(bytes) { item, bytes in
            self.judge.judge(item, bytes, &verdicts)
        }
        return self.carryOut(verdicts, now)
    }

    /// A time that ``GatewayAction/wake(at:)`` named has come. Too early or too often does no harm.
    package mutating func timePassed(at now: Duration) -> [GatewayAction] {
        var actions: [GatewayAction] = []
        while let note = self.notes.first, note.due <= now {
            actions.append(.write(note.bytes))
            self.notes.removeFirst()
        }
        if let ending, ending.due <= now {
            self.ending = nil
            self.say(ending.word, now, &actions)
        } else {
            actions += self.connection.timePassed(at: NIODeadline(now)).actions
        }
        return actions
    }

    /// The client will send nothing more.
    package mutating func inputClosed() -> [GatewayAction] {
        self.connection.inputClosed().actions
    }
}

extension GatewayMachine {
    private mutating func carryOut(_ verdicts: [ScriptedJudge.Verdict], _ now: Duration) -> [GatewayAction] {
        var actions: [GatewayAction] = []
        for verdict in verdicts {
            switch verdict {
            case .gone(let token, let since):
                actions.append(.gone(token: token, since: since))
            case .note(let bytes, let delay):
                self.note(bytes, at: now + delay, now, &actions)
            case .end(let word, let delay):
                self.end(with: word, at: now + delay, now, &actions)
            case .stall:
                actions.append(.stopReading)
                actions += self.connection.ignore().actions
            }
        }
        return actions
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
        with word: ScriptedJudge.LastWord,
        at due: Duration,
        _ now: Duration,
        _ actions: inout [GatewayAction]
    ) {
        guard due > now else { return self.say(word, now, &actions) }
        self.connection.decide()
        self.ending = (due, word)
        actions.append(.wake(at: due))
    }

    private mutating func say(_ word: ScriptedJudge.LastWord, _ now: Duration, _ actions: inout [GatewayAction]) {
        switch word {
        case .reset:
            self.connection.closed()
            actions.append(.reset)
        case .silence:
            actions += self.connection.end(at: NIODeadline(now)).actions
        case .response(let bytes):
            actions.append(.write(bytes))
            let next = self.script.keepsOpen ? self.connection.ignore() : self.connection.end(at: NIODeadline(now))
            actions += next.actions
        }
    }
}

extension BinaryServerConnection.Action {
    fileprivate var actions: [GatewayAction] {
        switch self {
        case .none: []
        case .closeOutput(let until): [.closeOutput, .wake(at: Duration(until))]
        case .close: [.close]
        }
    }
}
