import DequeModule
import FerryBinary
import FerryCore
import NIOCore

/// One TCP connection of an old program to the gateway: what two kernels and a network do.
///
/// ```
///   program ──▶ send buffer ──▶ segments in the air ──▶ receive buffer ──▶ gateway
///           ◀──────────────── six bytes, end, reset ◀────────────────────
/// ```
///
/// Bytes that come to a closed socket are answered with a reset, and a reset destroys what the other side has not sent.
final class Wire {
    /// A way through a network.
    struct Path: CustomStringConvertible {
        var roundTrip: TimeAmount = .milliseconds(20)
        /// What the way back takes longer than the way there.
        var delay: TimeAmount = .zero
        /// The frames of the connection after which that begins: before, its handshake shows it, too.
        var delayFrom = 0
        /// Whether a balancer answers for the program's system, so that TCP measures the way to the balancer.
        var isHidden = false
        /// The segments of the first flight. Each acknowledged segment lets one more go.
        var firstFlight = 10
        /// The time that a segment takes on the slowest link.
        var spacing: TimeAmount = .zero
        /// One segment in this many is lost; 0: none is.
        var lossOneIn = 0
        /// The bytes that the program's kernel takes.
        var sendBuffer = 200_000
        /// The bytes that the gateway's kernel takes.
        var receiveBuffer = 128_000

        var oneWay: TimeAmount { .nanoseconds(self.roundTrip.nanoseconds / 2) }

        /// What the handshake measures.
        var handshake: TimeAmount { self.delayFrom == 0 ? self.roundTrip + self.delay : self.roundTrip }

        /// What TCP measures.
        var transport: TimeAmount { self.isHidden ? .milliseconds(1) : self.handshake }

        var description: String {
            """
            \(self.roundTrip.nanoseconds / 1_000_000) ms, back \(self.delay.nanoseconds / 1_000_000) ms later from \
            \(self.delayFrom) on\(self.isHidden ? ", hidden" : ""), flight \(self.firstFlight), spacing \(self.spacing.nanoseconds / 1000) \
            µs, loss \(self.lossOneIn), buffers \(self.sendBuffer) and \(self.receiveBuffer)
            """
        }
    }

    /// What comes back to the program.
    enum Word {
        case response(ErrorResponse)
        case end
        case reset
        /// The send buffer has room again.
        case writable
    }

    private static let segmentLength = 1448
    /// The first time after which a segment counts as lost, without the round trip.
    private static let retransmission = TimeAmount.milliseconds(200)

    let id: ConnectionID
    private unowned let world: any ProgramWorld
    private let path: Path
    /// The program. Nil after ``close()``: nobody reads.
    private var listener: ((Word) -> Void)?

    private var sendBuffer: Deque<Frame> = []
    private var sendLength = 0
    private var isBlocked = false
    private var inAir = 0
    private var inAirLength = 0
    private var window: Int
    private var lastArrival: NIODeadline
    private var hasEnd = false
    private var isEndSent = false
    /// Whether nothing more comes from the program's side: its socket was reset.
    private(set) var isBroken = false

    private var receiveBuffer: [Frame] = []
    private var receiveLength = 0
    private var hasArrivedEnd = false
    private(set) var isClosedByGateway = false
    private var isKilled = false
    private var toldAt: NIODeadline?
    private var closedAt: NIODeadline?
    private var frameCount = 0
    var isRead = true {
        didSet { if self.isRead { self.world.at(self.world.now) { self.read() } } }
    }

    init(_ id: ConnectionID, _ world: any ProgramWorld, _ path: Path, listener: @escaping (Word) -> Void) {
        self.id = id
        self.world = world
        self.path = path
        self.listener = listener
        self.window = path.firstFlight
        // The TCP and TLS handshakes.
        self.lastArrival = world.now + path.handshake + path.handshake
    }

    // MARK: The program

    /// Whether a write would not wait.
    var isWritable: Bool { self.sendLength < self.path.sendBuffer }

    func write(_ frame: Frame) {
        guard !self.isBroken, !self.hasEnd else { return self.lose(frame) }
        self.frameCount += 1
        self.sendBuffer.append(frame)
        self.sendLength += frame.bytes.count
        self.pump()
        self.isBlocked = !self.isWritable
    }

    /// Closes the socket: what was written goes out, and then the end.
    func close() {
        self.listener = nil
        self.closedAt = self.world.now
        self.hasEnd = true
        self.pump()
    }

    /// Closes a socket that has unread input: that is a reset, and what was not sent is destroyed.
    func reset() {
        guard !self.isBroken else { return }
        self.listener = nil
        self.closedAt = self.closedAt ?? self.world.now
        self.breakOff()
        self.lastArrival = max(self.lastArrival, self.world.now + self.path.oneWay)
        self.world.at(self.lastArrival) { self.arrivedEnd() }
    }

    private func lose(_ frame: Frame) {
        if self.isKilled { self.world.killed(frame.push) }
    }

    /// The longest time before the gateway sees the first byte of what is written after a pause.
    private var flightTime: TimeAmount {
        let flight = self.path.oneWay + self.path.spacing
        return self.path.lossOneIn > 0 ? flight + Self.retransmission + self.path.roundTrip : flight
    }

    /// The time that bytes take to the program. It never gets shorter, so that they keep their order.
    private var wayBack: TimeAmount {
        self.frameCount >= self.path.delayFrom ? self.path.oneWay + self.path.delay : self.path.oneWay
    }

    private func breakOff() {
        self.isBroken = true
        for frame in self.sendBuffer {
            self.lose(frame)
            // The program closed the connection before it had read what it was told, and the gateway could not know.
            if let closedAt, let toldAt, closedAt + self.flightTime >= toldAt { self.world.raced(frame.push) }
        }
        self.sendBuffer = []
        self.sendLength = 0
    }

    // MARK: The network

    private func pump() {
        guard !self.isBroken else { return }
        while !self.sendBuffer.isEmpty, self.inAir < self.window,
            self.inAirLength + self.receiveLength < self.path.receiveBuffer
        {
            var segment: [Frame] = []
            var length = 0
            while length < Self.segmentLength, let frame = self.sendBuffer.popFirst() {
                segment.append(frame)
                length += frame.bytes.count
            }
            self.sendLength -= length
            self.inAir += 1
            self.inAirLength += length
            self.lastArrival = max(self.lastArrival, self.world.now + self.path.oneWay) + self.path.spacing
            if self.world.happens(oneIn: self.path.lossOneIn) {
                self.lastArrival = self.lastArrival + Self.retransmission + self.path.roundTrip
            }
            self.world.at(self.lastArrival) { self.arrived(segment, length) }
        }
        if self.hasEnd, !self.isEndSent, self.sendBuffer.isEmpty {
            self.isEndSent = true
            self.lastArrival = max(self.lastArrival, self.world.now + self.path.oneWay)
            self.world.at(self.lastArrival) { self.arrivedEnd() }
        }
        if self.isBlocked, self.isWritable {
            self.isBlocked = false
            self.listener?(.writable)
        }
    }

    private func arrived(_ segment: [Frame], _ length: Int) {
        self.inAirLength -= length
        guard !self.isClosedByGateway else {
            for frame in segment { self.lose(frame) }
            return self.world.after(self.path.oneWay) { self.wasReset() }
        }
        self.receiveBuffer += segment
        self.receiveLength += length
        self.world.at(self.world.now) { self.read() }
        self.world.after(self.path.oneWay) {
            self.inAir -= 1
            self.window = min(self.window + 1, 4096)
            self.pump()
        }
    }

    private func arrivedEnd() {
        self.hasArrivedEnd = true
        // A gateway that does not read sees a reset all the same, and gets what its kernel holds.
        if self.isBroken { self.isRead = true }
        self.read()
    }

    private func wasReset() {
        guard !self.isBroken else { return }
        let listener = self.listener
        self.listener = { _ in }
        self.breakOff()
        self.listener = nil
        listener?(.reset)
    }

    // MARK: The gateway

    private func read() {
        guard self.isRead, !self.isClosedByGateway else { return }
        if !self.receiveBuffer.isEmpty {
            let frames = self.receiveBuffer
            self.receiveBuffer = []
            self.receiveLength = 0
            self.world.read(frames, from: self)
            self.world.after(self.path.oneWay) { self.pump() }
        }
        guard self.hasArrivedEnd, self.isRead, self.receiveBuffer.isEmpty else { return }
        self.hasArrivedEnd = false
        self.world.ended(self)
    }

    /// Brings bytes, the end of the output, or both to the program.
    func tell(_ response: ErrorResponse?) {
        if response != nil { self.toldAt = self.toldAt ?? self.world.now }
        self.world.after(self.wayBack) {
            guard let listener = self.listener else {
                // Nobody reads any more: the program's kernel answers bytes with a reset.
                guard response != nil, !self.isBroken else { return }
                return self.reset()
            }
            if let response { listener(.response(response)) } else { listener(.end) }
        }
    }

    /// - Parameter isEnding: whether the gateway's process ends: then nothing that comes later can be read.
    func closeByGateway(isEnding: Bool) {
        self.isKilled = isEnding
        self.isClosedByGateway = true
        let isAbrupt = !self.receiveBuffer.isEmpty
        for frame in self.receiveBuffer { self.lose(frame) }
        self.receiveBuffer = []
        self.world.after(self.wayBack) {
            if isAbrupt { self.wasReset() } else { self.listener?(.end) }
        }
    }

    /// Ends the connection as the kill of a gateway does: everything on its way is destroyed.
    func killed() {
        self.isKilled = true
        self.isClosedByGateway = true
        for frame in self.receiveBuffer { self.lose(frame) }
        self.receiveBuffer = []
        self.world.after(self.path.oneWay) { self.wasReset() }
    }
}
