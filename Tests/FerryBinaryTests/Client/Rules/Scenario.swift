import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

/// A client machine that a test moves step by step: it submits, connects, sends, lets the peer respond, and lets time
/// pass.
///
/// Notifications have a name, which is their tag and the first four bytes of their device token. By default the kernel
/// takes everything, the peer's TCP acknowledges it at once, and the peer is silent.
final class Scenario {
    /// A notification as the peer reads it.
    struct Frame: Equatable {
        var connection: ConnectionID
        var identifier: UInt32
        /// Nil for a probe.
        var name: UInt32?
    }

    private struct Link {
        var sent: UInt64 = 0
        var handed: UInt64 = 0
        var acknowledged: UInt64 = 0
    }

    private(set) var client: BinaryClient
    private(set) var now: NIODeadline = .uptimeNanoseconds(1_000_000_000_000)
    var epochSeconds: UInt32 = 1_700_000_000
    /// Whether the kernel takes the written bytes, and the peer's TCP acknowledges them.
    var kernelTakes = true
    var peerAcknowledges = true
    /// Whether the system reports acknowledgements.
    var showsAcknowledgements = true
    /// Whether samples report unread input.
    var hasUnread = false
    var isWritable = true

    private var links: [ConnectionID: Link] = [:]
    private(set) var dials: [ConnectionID] = []
    private(set) var dialTimes: [NIODeadline] = []
    private(set) var closed: [ConnectionID] = []
    private(set) var finished: [ConnectionID] = []
    private(set) var sampleCount = 0
    private(set) var isStuck = false
    private(set) var frames: [Frame] = []
    private(set) var outcomes: [UInt32: [Outcome]] = [:]
    private(set) var events: [ProviderEvent] = []

    init(_ configure: (inout BinaryOptions) -> Void = { _ in }) {
        var options = BinaryOptions()
        configure(&options)
        self.client = BinaryClient(options: options)
        self.client.reportsTransmitted = false
    }

    var moment: Moment { Moment(monotonic: self.now, epochSeconds: self.epochSeconds) }

    // MARK: Calls to the client

    func submit(_ names: ClosedRange<UInt32>) {
        self.submit(Array(names))
    }

    func submit(
        _ names: [UInt32],
        expiration: UInt32? = nil,
        payload: Int = 10,
        token: ((UInt32) -> [UInt8])? = nil,
        isAwaited: Bool = false
    ) {
        var batch = PushBatch()
        for name in names {
            do {
                try batch.append(
                    PushNotification(
                        json: Array("{\"a\":\"\(String(repeating: "x", count: max(payload - 8, 0)))\"}".utf8),
                        expiration: expiration.map { Expiration(epochSeconds: $0) }
                    ),
                    to: .device(DeviceToken(token?(name) ?? Self.token(name))),
                    tag: UInt64(name),
                    fields: isAwaited ? .awaited : BatchEntry.Fields()
                )
            } catch {
                Issue.record(error)
            }
        }
        self.submit(batch.takeFirst(.max))
    }

    func submit(_ run: BatchRun) {
        self.client.submit(run, now: self.moment)
        self.settleAccounts()
    }

    static func token(_ name: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: name >> (24 - 8 * $0)) } + [UInt8](repeating: 7, count: 28)
    }

    func withdraw(_ names: UInt32...) {
        self.client.withdraw(Set(names.map(UInt64.init)), now: self.moment)
        self.settleAccounts()
    }

    func shutDown(_ proof: Proof = .silence) {
        self.client.shutDown(proof: proof, now: self.moment)
        self.settleAccounts()
    }

    func abandon() {
        self.client.abandon(
            undelivered: .shutDown,
            uncertain: .shutDown,
            handed: { self.links[$0]?.handed ?? 0 },
            now: self.moment
        )
        self.settleAccounts()
    }

    func pause(_ isPaused: Bool) { self.client.isPaused = isPaused }

    // MARK: Connections

    /// The newest connection that still exists.
    var current: ConnectionID { self.links.keys.max { $0.rawValue < $1.rawValue } ?? ConnectionID(0) }

    /// Waits until the client dials, and lets the dial succeed.
    @discardableResult
    func connect(within limit: TimeAmount = .minutes(10)) -> ConnectionID {
        self.awaitDial(limit)
        guard !self.dials.isEmpty else {
            Issue.record("no connection is wanted")
            return ConnectionID(0)
        }
        let id = self.dials.removeFirst()
        self.links[id] = Link()
        self.client.connected(id, now: self.moment)
        self.settleAccounts()
        return id
    }

    /// Waits until the client dials, and lets the dial fail.
    func failDial(_ end: ConnectionEnd = .notConnected(ProviderError(.connectFailed, "refused"))) {
        self.awaitDial(.minutes(10))
        guard !self.dials.isEmpty else {
            Issue.record("no connection is wanted")
            return
        }
        self.client.ended(self.dials.removeFirst(), end, handed: 0, now: self.moment)
        self.settleAccounts()
    }

    private func awaitDial(_ limit: TimeAmount) {
        let end = self.now + limit
        while self.dials.isEmpty, let next = self.client.nextDeadline, next <= end {
            self.now = max(self.now, next)
            self.tick()
        }
    }

    /// Writes all notifications that may be written; returns their names.
    @discardableResult
    func send(on id: ConnectionID? = nil, atMost limit: Int = 1 << 20) -> [UInt32] {
        let id = id ?? self.current
        var names: [UInt32] = []
        var buffer = ByteBuffer()
        while self.client.write(id, into: &buffer, atMost: limit, now: self.moment) {
            let link = self.links[id] ?? Link()
            let sent = link.sent + UInt64(buffer.readableBytes)
            self.links[id]?.sent = sent
            if self.kernelTakes { self.links[id]?.handed = sent }
            for frame in Self.decode(&buffer, id) {
                self.frames.append(frame)
                if let name = frame.name { names.append(name) }
            }
            self.client.flushed(id, at: sent, now: self.moment)
            buffer.clear()
            if limit < 1 << 20 { break }
        }
        self.settleAccounts()
        return names
    }

    /// Submits, connects and writes.
    func open(_ names: ClosedRange<UInt32>) {
        self.submit(names)
        self.connect()
        self.send()
    }

    func writability(_ isWritable: Bool, on id: ConnectionID) {
        self.client.writability(id, isWritable: isWritable)
    }

    /// Lets the kernel take this many of the bytes written on the current connection.
    func hand(over bytes: UInt64) { self.links[self.current]?.handed = bytes }

    var sentBytes: UInt64 { self.links[self.current]?.sent ?? 0 }

    private static func decode(_ buffer: inout ByteBuffer, _ id: ConnectionID) -> [Frame] {
        var frames: [Frame] = []
        while buffer.readableBytes > 0 {
            switch NotificationDecoder(maximumPayloadLength: 1 << 16).decode(buffer.readableBytesSpan, at: 0) {
            case .notification(let frame):
                let token = buffer.readerIndex + frame.token.lowerBound
                let name = buffer.getInteger(at: token, as: UInt32.self) ?? 0
                frames.append(Frame(connection: id, identifier: frame.identifier ?? 0, name: name))
                buffer.moveReaderIndex(forwardBy: frame.length)
            case .refused(let refusal):
                frames.append(Frame(connection: id, identifier: refusal.identifier ?? 0, name: nil))
                buffer.moveReaderIndex(forwardBy: refusal.length)
            case .needMore, .violation:
                Issue.record("a frame that cannot be read")
                return frames
            }
        }
        return frames
    }

    /// Ends the connection in the middle of a write, as a failed system call does.
    func endsWhileSending(on id: ConnectionID) {
        var buffer = ByteBuffer()
        _ = self.client.write(id, into: &buffer, atMost: 1 << 20, now: self.moment)
        self.end(on: id)
    }

    /// Whether there is no connection.
    var isDisconnected: Bool { self.links.isEmpty }

    // MARK: The peer

    /// Lets the peer send a response that names the last copy of a notification.
    func respond(_ status: UInt8, to name: UInt32) {
        guard let frame = self.frames.last(where: { $0.name == name }) else {
            Issue.record("\(name) was never written")
            return
        }
        self.respond(status, identifier: frame.identifier, on: frame.connection)
    }

    func respond(_ status: UInt8, identifier: UInt32, on id: ConnectionID? = nil) {
        self.receive(Self.response(status, identifier), on: id)
    }

    static func response(_ status: UInt8, _ identifier: UInt32) -> [UInt8] {
        [8, status] + (0..<4).map { UInt8(truncatingIfNeeded: identifier >> (24 - 8 * $0)) }
    }

    /// The probe that was written last.
    var probe: Frame? { self.frames.last { $0.name == nil } }

    func receive(_ bytes: [UInt8], on id: ConnectionID? = nil) {
        let id = id ?? self.current
        let handed = self.links[id]?.handed ?? 0
        self.client.received(id, ByteBuffer(bytes: bytes), handed: handed, now: self.moment)
        self.settleAccounts()
    }

    func end(_ end: ConnectionEnd = .endOfStream, on id: ConnectionID? = nil) {
        let id = id ?? self.current
        let link = self.links.removeValue(forKey: id)
        self.client.ended(id, end, handed: link?.handed ?? 0, now: self.moment)
        self.settleAccounts()
    }

    func reset() { self.end(.lost(ProviderError(.connectionLost, "reset"))) }

    // MARK: Time

    /// Lets time pass, and does everything that is due meanwhile. If `sending`, connections write when they can.
    func pass(_ time: TimeAmount, sending: Bool = false) {
        let end = self.now + time
        var steps = 0
        while let next = self.client.nextDeadline, next <= end {
            self.now = max(self.now, next)
            self.tick()
            if sending { for id in self.links.keys { self.send(on: id) } }
            steps += 1
            guard steps < 50_000 else {
                Issue.record("a deadline that never passes")
                self.isStuck = true
                return
            }
        }
        self.now = end
    }

    /// Stops the process for a while, as the operating system may.
    func stop(for time: TimeAmount) { self.now = self.now + time }

    func tick() {
        if let next = self.client.nextDeadline, next <= self.now { self.client.tick(now: self.moment) }
        self.settleAccounts()
    }

    // MARK: Results

    /// The outcome of a notification; nil before it has one.
    subscript(name: UInt32) -> Outcome? {
        let outcomes = self.outcomes[name] ?? []
        if outcomes.count > 1 { Issue.record("\(name) has the outcomes \(outcomes)") }
        return outcomes.first
    }

    /// The outcomes of notifications, in the order of their names.
    func outcomes(of names: ClosedRange<UInt32>) -> [Outcome?] { names.map { self[$0] } }

    /// Whether all have that outcome.
    func all(_ names: ClosedRange<UInt32>, are outcome: Outcome) -> Bool {
        names.allSatisfy { self[$0] == outcome }
    }

    var counts: OutcomeCounts { self.client.outcomes.counts }
    var contradicted: Int { self.client.outcomes.contradicted }
    var resent: Int { self.client.outcomes.resent }
    var unsettled: Int { self.client.unsettledCount }
    var queued: Int { self.client.queuedCount }
    var nextDeadline: NIODeadline? { self.client.nextDeadline }
    var isFinished: Bool { self.client.isFinished }
    var window: Int? { self.client.window(of: self.current) }

    var contradictions: [Contradiction] {
        self.events.compactMap { if case .contradicted(let contradiction) = $0 { contradiction } else { nil } }
    }

    var errors: [ProviderError] {
        self.events.compactMap { if case .error(let error) = $0 { error } else { nil } }
    }

    struct TransmissionError: Equatable {
        var tag: UInt64?
        var hasNotification = false
        var hasDevice = false
    }

    var transmissionErrors: [TransmissionError] {
        self.events.compactMap { event in
            guard case .transmissionError(_, let tag, let notification, let device) = event else { return nil }
            return .init(tag: tag?.rawValue, hasNotification: notification != nil, hasDevice: device != nil)
        }
    }

    var shortfalls: [Int] {
        self.events.compactMap { if case .cacheTooSmall(let shortfall) = $0 { shortfall } else { nil } }
    }

    private func settleAccounts() {
        var actions = self.client.takeSteps()
        while !actions.isEmpty {
            for action in actions { self.carryOut(action) }
            actions = self.client.takeSteps()
        }
        for record in self.client.outcomes.records + self.client.outcomes.awaited {
            self.outcomes[UInt32(record.tag.rawValue), default: []].append(record.outcome)
        }
        self.client.outcomes.records.removeAll()
        self.client.outcomes.awaited.removeAll()
        self.events += self.client.takeEvents()
    }

    private func carryOut(_ action: ConnectionStep) {
        switch action {
        case .dial(let id):
            self.dials.append(id)
            self.dialTimes.append(self.now)
        case .close(let id):
            self.closed.append(id)
            self.links[id] = nil
            self.dials.removeAll { $0 == id }
        case .finish(let id):
            self.finished.append(id)
        case .sample(let id):
            self.sampleCount += 1
            if self.peerAcknowledges, let handed = self.links[id]?.handed { self.links[id]?.acknowledged = handed }
            let sample = TransportSample(
                acknowledged: self.showsAcknowledgements ? self.links[id]?.acknowledged ?? 0 : nil,
                handed: self.links[id]?.handed ?? 0,
                hasUnread: self.hasUnread,
                isWritable: self.isWritable
            )
            self.client.sampled(id, sample, now: self.moment)
        case .refused:
            Issue.record("the binary protocol has no provider tokens")
        }
    }

    /// Lets the peer's TCP acknowledge this many of the bytes written on the current connection.
    func acknowledge(_ bytes: UInt64) { self.links[self.current]?.acknowledged = bytes }
}

extension Outcome {
    static var presumed: Outcome { .accepted(.presumed) }
    static var confirmed: Outcome { .accepted(.confirmed) }

    static func rejected(_ status: UInt8, _ origin: Rejection.Origin = .gateway) -> Outcome {
        .rejected(Rejection(reason: Reason(binaryStatus: status), origin: origin, status: Int(status)))
    }
}
