import FerryBinary
import FerryCore
import NIOCore

/// A gateway in the simplest form: it follows Apple's documentation, and can repeat the faults of real gateways.
///
/// It shares only the decoder of frames with the client. It has no clock: its owner decides when an ``Event`` is due.
struct ReferenceGateway {
    /// The faults of the gateway. A notification is known by the first four bytes of its token.
    struct Rules {
        /// The notifications that it refuses, with the status.
        var bad: [UInt32: UInt8] = [:]
        /// The notifications on which it closes without a response.
        var poison: Set<UInt32> = []
        /// Whether it answers with identifier 0 instead of the notification's.
        var hidesIdentifier = false
        /// Whether it hides the identifier of odd notifications only.
        var hidesOddIdentifiers = false
        /// Whether it answers with an identifier that it never saw.
        var inventsIdentifier = false
        /// How many bytes of an error response it writes before it closes.
        var responseLength = 6
        /// After this many notifications on a connection, it shuts down with status 10.
        var shutdownAfter: Int?
        /// After this many notifications on a connection, it closes without a response.
        var closeAfter: Int?
        /// The number of accepted notifications from one confirmation with status 0 to the next.
        var confirmsEvery: Int?
        /// Whether it confirms the accepted notifications with status 0 before an error response.
        var confirmsBeforeErrors = false
        /// The bytes that it writes instead of the correct ones.
        var babble: [UInt8]?
        /// Whether it closes at the end of the client's stream without the responses that are due.
        var closesAtTheEnd = false
        var judging = Judging.inOrder
        var probeAnswer = ProbeAnswer.inOrder
    }

    /// The time at which the gateway judges a notification.
    enum Judging: CaseIterable {
        /// While reading: notifications after a refused one are discarded.
        case inOrder
        /// Each after its own delay. At the first refusal all notifications without a judgement are lost, also earlier
        /// ones.
        case inAnyOrder
        /// At the end of the client's stream.
        case atTheEnd
    }

    /// The gateway's answer to a probe.
    enum ProbeAnswer: Equatable {
        /// The gateway names the probe after it has judged everything before it.
        case inOrder
        /// The gateway names the probe at once, and drops the responses that are due.
        case overtaking
        /// The gateway answers in order, with this status and identifier 0.
        case nameless(UInt8)
        /// The gateway resets the connection at once.
        case reset
        case none
    }

    /// A notification or probe that the gateway read and must judge.
    struct Frame: Equatable {
        /// Nil: it is a probe.
        var name: UInt32?
        var identifier: UInt32
    }

    enum Reply: Equatable {
        case bytes([UInt8])
        case close
        /// Sends nothing to the client: the owner calls ``ReferenceGateway/judge(_:)``.
        case verdict(Frame)
    }

    /// An action of the gateway, and its time.
    struct Event: Equatable {
        enum Time {
            /// At once. Earlier events that are still due are dropped.
            case atOnce
            /// After a delay, and after the earlier events.
            case inOrder
            /// After a delay of its own.
            case inAnyOrder
        }

        var replies: [Reply]
        var time: Time
    }

    /// The result of reading or judging.
    struct Result {
        var accepted: [UInt32] = []
        var events: [Event] = []
    }

    let rules: Rules
    private var buffer = ByteBuffer()
    /// The frames without a judgement.
    private var pending: [Frame] = []
    private var accepted = 0
    private var lastAccepted: UInt32 = 0
    /// Whether the last response is decided. From then on the gateway discards everything, as Apple's did.
    private(set) var isDeaf = false
    /// The notifications that it read and did not accept.
    private(set) var discarded: Set<UInt32> = []
    /// The number of notifications that it read.
    private(set) var readCount = 0

    init(rules: Rules) {
        self.rules = rules
    }

    mutating func read(_ bytes: [UInt8]) -> Result {
        self.buffer.writeBytes(bytes)
        var result = Result()
        while true {
            switch NotificationDecoder().decode(self.buffer.readableBytesSpan, at: 0) {
            case .needMore:
                return result
            case .violation:
                if !self.isDeaf { result.events.append(self.last([.close], .atOnce)) }
                return result
            case .refused(let refusal):
                self.buffer.moveReaderIndex(forwardBy: refusal.length)
                self.read(Frame(name: nil, identifier: refusal.identifier ?? 0), &result)
            case .notification(let frame):
                let token = self.buffer.readerIndex + frame.token.lowerBound
                let name = self.buffer.getInteger(at: token, as: UInt32.self) ?? 0
                self.buffer.moveReaderIndex(forwardBy: frame.length)
                self.readCount += 1
                self.read(Frame(name: name, identifier: frame.identifier ?? 0), &result)
            }
        }
    }

    private mutating func read(_ frame: Frame, _ result: inout Result) {
        if frame.name == nil {
            switch self.rules.probeAnswer {
            case .overtaking:
                let answer = Self.response(BinaryStatus.missingDeviceToken.rawValue, frame.identifier)
                return result.events.append(self.last([.bytes(answer), .close], .atOnce))
            case .reset: return result.events.append(self.last([.close], .atOnce))
            case .none: return
            case .inOrder, .nameless: break
            }
        }
        if self.isDeaf { return self.discard(frame) }
        switch self.rules.judging {
        case .inOrder:
            self.judge(frame, &result)
        case .inAnyOrder:
            self.pending.append(frame)
            result.events.append(Event(replies: [.verdict(frame)], time: .inAnyOrder))
        case .atTheEnd:
            self.pending.append(frame)
        }
    }

    /// Judges a frame that was read before.
    mutating func judge(_ frame: Frame) -> Result {
        var result = Result()
        guard let index = self.pending.firstIndex(of: frame) else { return result }
        self.pending.remove(at: index)
        self.judge(frame, &result)
        return result
    }

    /// Judges all remaining frames: the client's stream has ended, or the client is gone.
    mutating func judgeRest() -> Result {
        var result = Result()
        while !self.pending.isEmpty { self.judge(self.pending.removeFirst(), &result) }
        return result
    }

    /// Ends the connection for the gateway's own reasons, with these bytes or without a response.
    mutating func breakOff(_ bytes: [UInt8]) -> [Event] {
        self.isDeaf ? [] : [self.last(bytes.isEmpty ? [.close] : [.bytes(bytes), .close], .atOnce)]
    }

    private mutating func judge(_ frame: Frame, _ result: inout Result) {
        guard !self.isDeaf else { return self.discard(frame) }
        guard let name = frame.name else {
            let answer =
                if case .nameless(let status) = self.rules.probeAnswer {
                    Self.response(status, 0)
                } else {
                    Self.response(BinaryStatus.missingDeviceToken.rawValue, frame.identifier)
                }
            return result.events.append(self.last([.bytes(answer), .close]))
        }
        if self.rules.poison.contains(name) {
            self.discard(frame)
            result.events.append(self.last([.close]))
        } else if let status = self.rules.bad[name] {
            self.discard(frame)
            let isHidden = self.rules.hidesIdentifier || self.rules.hidesOddIdentifiers && name % 2 == 1
            result.events.append(self.refuse(status, isHidden ? 0 : frame.identifier))
        } else {
            result.accepted.append(name)
            self.accepted += 1
            self.lastAccepted = frame.identifier
            if let event = self.afterAccepting() { result.events.append(event) }
        }
    }

    private mutating func discard(_ frame: Frame) {
        if let name = frame.name { self.discarded.insert(name) }
    }

    private mutating func afterAccepting() -> Event? {
        if let every = self.rules.confirmsEvery, self.accepted.isMultiple(of: every) {
            return Event(replies: [.bytes(Self.response(0, self.lastAccepted))], time: .inOrder)
        }
        if self.accepted == self.rules.shutdownAfter {
            return self.last([.bytes(Self.response(10, self.lastAccepted)), .close])
        }
        if self.accepted == self.rules.closeAfter {
            return self.last([.close])
        }
        return nil
    }

    private mutating func refuse(_ status: UInt8, _ identifier: UInt32) -> Event {
        if let babble = self.rules.babble { return self.last([.bytes(babble), .close]) }
        let named = self.rules.inventsIdentifier ? identifier &+ 1_000_000 : identifier
        let response = Array(Self.response(status, named).prefix(self.rules.responseLength))
        let confirmation = self.rules.confirmsBeforeErrors && self.accepted > 0
        return self.last(
            (confirmation ? [.bytes(Self.response(0, self.lastAccepted))] : []) + [.bytes(response), .close]
        )
    }

    private mutating func last(_ replies: [Reply], _ time: Event.Time = .inOrder) -> Event {
        self.isDeaf = true
        // Frames without a judgement are lost.
        for frame in self.pending { self.discard(frame) }
        self.pending = []
        return Event(replies: replies, time: time)
    }

    static func response(_ status: UInt8, _ identifier: UInt32) -> [UInt8] {
        [8, status] + (0..<4).map { UInt8(truncatingIfNeeded: identifier >> (24 - 8 * $0)) }
    }
}
