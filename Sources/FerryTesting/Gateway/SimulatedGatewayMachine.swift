internal import FerryBinary
package import FerryPlatform
package import NIOCore

/// The actions that the owner of a ``SimulatedGatewayMachine`` must perform, in order.
package enum GatewayAction: Hashable, Sendable {
    /// Write these bytes and flush.
    case write([UInt8])
    /// End the output: send close_notify, then shut down the sending direction. Go on reading.
    case closeOutput
    /// Close the connection in both directions.
    case close
    /// Close the connection with a reset.
    case reset
    /// Stop reading.
    case stopReading
    /// Put this device on the feedback list with that time; nil: the current time.
    case gone(token: [UInt8], since: Date?)
    /// Call ``SimulatedGatewayMachine/timePassed(at:)`` at that time.
    case wake(at: Duration)
}

/// The machine of one connection of a simulated gateway, without I/O. Bytes and time go in, actions come out.
///
/// A `BinaryServerConnection` reads and ends the connection, and a ``ScriptedJudge`` decides about each notification.
/// This machine carries the decisions out after the delays of the script. Time is a `Duration` since any fixed moment.
package struct SimulatedGatewayMachine {
    /// The counts of the notifications and bytes that arrived.
    package struct Counts: Hashable, Sendable {
        package var accepted = 0
        /// Notifications that were read completely and refused.
        package var refused = 0
        /// Bytes that arrived after the end of the connection was decided.
        package var discardedBytes = 0
    }

    private let script: GatewayScript
    private var connection: BinaryServerConnection
    private var judge: ScriptedJudge
    /// Delayed responses with status 0, the earliest first.
    private var notes: [(due: Duration, bytes: [UInt8])] = []
    /// The delayed end of the connection.
    private var ending: (due: Duration, word: ScriptedJudge.LastWord)?

    /// - Parameters:
    ///   - rules: the script's rules, shared by all connections of the gateway.
    ///   - connection: the connection's number, for the recorder.
    ///   - recorder: the recorder of accepted notifications. Nil: they are only counted.
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

    /// Takes the news that the connection is ready for notifications.
    package mutating func opened(at now: Duration) -> [GatewayAction] {
        var verdicts: [ScriptedJudge.Verdict] = []
        self.judge.checkCount(&verdicts)
        return self.carryOut(verdicts, now)
    }

    /// Takes bytes that arrived.
    package mutating func received(_ bytes: consuming ByteBuffer, at now: Duration) -> [GatewayAction] {
        var verdicts: [ScriptedJudge.Verdict] = []
        self.connection.received(bytes) { item, bytes in
            self.judge.judge(item, bytes, &verdicts)
        }
        return self.carryOut(verdicts, now)
    }

    /// Takes the news that a time of ``GatewayAction/wake(at:)`` has come. Extra or early calls do no harm.
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

    /// Takes the news that the client sends nothing more.
    package mutating func inputClosed() -> [GatewayAction] {
        self.connection.inputClosed().actions
    }
}

extension SimulatedGatewayMachine {
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
