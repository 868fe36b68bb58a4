import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryHTTP2
@testable import FerryHTTP2World

/// A client that a test moves step by step: it submits, connects, lets APNs answer, and lets time pass.
///
/// Notifications have a number, which is their tag and stands in their payload. By default the network carries
/// everything at once, and APNs answers only when the test says so.
final class Scenario {
    /// A request as APNs reads it.
    struct Request {
        var connection: ConnectionID
        var stream: HTTP2Session.Stream
        var name: UInt32
        var fields: [String: String]
        /// The names of the fields, in order.
        var names: [String]
    }

    final class Link {
        var server: HTTP2Session
        var sent: UInt64 = 0
        var handed: UInt64 = 0
        /// Whether the peer reads nothing and the channel takes nothing.
        var isStuck = false
        /// Whether the peer sends nothing.
        var isSilent = false
        /// All bytes that were written.
        var bytes: [UInt8] = []

        init(_ settings: HTTP2Session.Settings) throws {
            self.server = try HTTP2Session(role: .server, settings: settings)
        }
    }

    private(set) var client: HTTP2Client
    let start: NIODeadline = .uptimeNanoseconds(1_000_000_000_000_000)
    private(set) var now: NIODeadline
    var epochSeconds: UInt32 = 1_700_000_000
    var tokens = TokenOwner()
    /// The first SETTINGS of servers.
    var settings = HTTP2Session.Settings()
    private(set) var links: [ConnectionID: Link] = [:]
    private(set) var dials: [ConnectionID] = []
    private(set) var dialCount = 0
    private(set) var closed: [ConnectionID] = []
    private(set) var finished: [ConnectionID] = []
    private(set) var refused: [Reason] = []
    /// The complete requests that were not answered.
    private(set) var requests: [Request] = []
    /// The names of all requests, in the order of arrival.
    private(set) var arrived: [UInt32] = []
    private(set) var outcomes: [UInt32: [OutcomeRecord]] = [:]
    private(set) var events: [ProviderEvent] = []
    /// The time in which the machine slept.
    var slept = TimeAmount.zero
    private var block = HeaderBlock()

    init(
        usesTokens: Bool = false,
        bundleID: String? = "com.example.app",
        proxy: String? = nil,
        _ configure: (inout HTTP2Options) -> Void = { _ in }
    ) {
        var options = HTTP2Options()
        configure(&options)
        self.now = self.start
        self.client = HTTP2Client(
            options: options,
            authority: "localhost",
            proxy: proxy,
            bundleID: bundleID,
            usesTokens: usesTokens,
            seed: 1
        )
        self.settings.maxConcurrentStreams = 100
    }

    var moment: Moment {
        Moment(monotonic: self.now, epochSeconds: self.epochSeconds, boot: self.now + self.slept)
    }

    /// The number of PINGs that the client sent on a connection.
    func pings(on id: ConnectionID) -> Int {
        let bytes = self.links[id]?.bytes ?? []
        // The frames follow the preface of 24 bytes.
        var (place, count) = (24, 0)
        while place + 9 <= bytes.count {
            if bytes[place + 3] == 6, bytes[place + 4] == 0 { count += 1 }
            place += 9 + Int(bytes[place]) << 16 + Int(bytes[place + 1]) << 8 + Int(bytes[place + 2])
        }
        return count
    }

    /// Keeps the counts of PINGs from now on.
    func countPings() { self.client.countPings() }

    /// The counts of PINGs since the last call.
    func takePings() -> ProviderActivity.Pings { self.client.takePings() }

    /// Measures the times of outcomes from now on.
    func measureTimes() { self.client.measureTimes() }

    /// The times of the outcomes since the last call.
    func takeTimes() -> ProviderActivity.Times { self.client.takeTimes(until: self.now) }

    // MARK: Calls to the client

    func submit(_ names: ClosedRange<UInt32>, expiration: UInt32? = nil, device: [UInt8]? = nil) {
        self.submit(Array(names)) { name in
            let token = device ?? Array("device\(name)".utf8)
            return (
                try PushNotification(
                    json: Self.payload(name),
                    expiration: expiration.map { Expiration(epochSeconds: $0) }
                ), token
            )
        }
    }

    static func payload(_ name: UInt32) -> [UInt8] { Array(#"{"n":\#(name),"aps":{}}"#.utf8) }

    func submit(_ names: [UInt32], isAwaited: Bool = false, _ make: (UInt32) throws -> (PushNotification, [UInt8])) {
        var batch = PushBatch()
        for name in names {
            do {
                let (notification, token) = try make(name)
                try batch.append(
                    notification,
                    to: .device(DeviceToken(token)),
                    tag: UInt64(name),
                    fields: isAwaited ? .awaited : BatchEntry.Fields()
                )
            } catch {
                Issue.record(error)
            }
        }
        self.client.submit(batch.takeFirst(.max), now: self.moment)
        self.exchange()
    }

    func withdraw(_ names: UInt32...) {
        self.client.withdraw(Set(names.map(UInt64.init)), now: self.moment)
        self.exchange()
    }

    /// Takes back everything that is not under way, and submits it again after `time`.
    ///
    /// - Returns: how many notifications that was.
    func recallAndSubmit(after time: TimeAmount) -> Int {
        let runs = self.client.recall(tainted: true, where: { _ in true }, now: self.moment)
        self.pass(time)
        for run in runs { self.client.submit(run, now: self.moment) }
        self.exchange()
        return runs.reduce(0) { $0 + $1.count }
    }

    func shutDown() {
        self.client.shutDown(proof: .silence, now: self.moment)
        self.exchange()
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

    func pause(_ isPaused: Bool) {
        self.client.isPaused = isPaused
        self.exchange()
    }

    func outcome(_ name: UInt32) -> Outcome? {
        let records = self.outcomes[name] ?? []
        #expect(records.count < 2)
        return records.first?.outcome
    }

    /// Replaces the key of provider tokens, and gives the client the owner's new authorization.
    func replaceKey() {
        self.tokens.replaceKey()
        self.client.authorized(self.tokens.authorize(self.moment))
        self.exchange()
    }

    // MARK: Connections

    /// The newest connection that still exists.
    var current: ConnectionID { self.links.keys.max { $0.rawValue < $1.rawValue } ?? ConnectionID(0) }

    /// Waits until the client dials, and lets the dial succeed.
    @discardableResult
    func connect(within limit: TimeAmount = .minutes(1), isSilent: Bool = false) -> ConnectionID {
        self.awaitDial(limit)
        guard !self.dials.isEmpty else {
            Issue.record("no connection is wanted")
            return ConnectionID(0)
        }
        let id = self.dials.removeFirst()
        do { self.links[id] = try Link(self.settings) } catch { Issue.record(error) }
        self.links[id]?.isSilent = isSilent
        self.client.connected(id, now: self.moment)
        self.exchange()
        return id
    }

    /// Waits until the client dials, and lets the dial fail.
    func failDial(_ end: ConnectionEnd = .notConnected(ProviderError(.connectFailed, "refused"))) {
        self.awaitDial(.minutes(1))
        guard !self.dials.isEmpty else { return self.complain("no connection is wanted") }
        self.client.ended(self.dials.removeFirst(), end, handed: 0, now: self.moment)
        self.exchange()
    }

    private func awaitDial(_ limit: TimeAmount) {
        let end = self.now + limit
        while self.dials.isEmpty, let next = self.client.nextDeadline, next <= end {
            self.now = max(self.now, next)
            self.tick()
        }
    }

    /// Ends the connection. The number of bytes that the kernel took is known.
    func end(_ id: ConnectionID? = nil, _ end: ConnectionEnd = .endOfStream) {
        let id = id ?? self.current
        let link = self.links.removeValue(forKey: id)
        self.requests.removeAll { $0.connection == id }
        self.client.ended(id, end, handed: link?.handed ?? 0, now: self.moment)
        self.exchange()
    }

    func stick(_ isStuck: Bool = true) {
        self.links[self.current]?.isStuck = isStuck
        if !isStuck { self.exchange() }
    }

    /// Writes this many frames, even if the channel takes no more.
    func write(frames: Int) {
        var buffer = ByteBuffer()
        for _ in 0..<frames { _ = self.client.write(self.current, into: &buffer, atMost: 1, now: self.moment) }
        self.settleAccounts()
    }

    // MARK: Answers of APNs

    /// Removes and returns the waiting request of a notification.
    func take(_ name: UInt32) -> Request? {
        guard let index = self.requests.firstIndex(where: { $0.name == name }) else { return nil }
        return self.requests.remove(at: index)
    }

    /// Answers with a status, and a reason unless it is empty.
    func answer(_ names: UInt32..., status: Int = 200, _ reason: String = "", retryAfter: UInt64? = nil) {
        for name in names { self.answer(name, status, reason, retryAfter) }
        self.exchange()
    }

    func answerAll(status: Int = 200, _ reason: String = "") {
        while let request = self.requests.first { self.answer(request.name, status: status, reason) }
    }

    /// Answers this many requests, in the order of arrival.
    func answerFirst(_ count: Int, status: Int = 200, _ reason: String = "") {
        for _ in 0..<count {
            guard let request = self.requests.first else { return self.complain("there are fewer requests") }
            self.answer(request.name, status: status, reason)
        }
    }

    private func answer(_ name: UInt32, _ status: Int, _ reason: String, _ retryAfter: UInt64?) {
        guard let request = self.take(name), let link = self.links[request.connection] else {
            return self.complain("\(name) is not there")
        }
        self.block.clear()
        self.block.append(":status", UInt64(status))
        if let retryAfter { self.block.append("retry-after", retryAfter) }
        let identifier = Array((request.fields["apns-id"] ?? "").utf8)
        do {
            try identifier.withUnsafeBufferPointer {
                self.block.append("apns-id", $0, .literal)
                let body = reason.isEmpty ? [] : Array(#"{"reason":"\#(reason)"}"#.utf8)
                try link.server.respond(to: request.stream, self.block, body: body)
            }
        } catch {
            Issue.record(error)
        }
    }

    /// Ends a request with RST_STREAM.
    func reset(_ name: UInt32, _ errorCode: UInt32) {
        guard let request = self.take(name) else { return self.complain("\(name) is not there") }
        self.links[request.connection]?.server.reset(request.stream, errorCode: errorCode)
        self.exchange()
    }

    /// Sends GOAWAY, and forgets the requests above the last stream.
    func goAway(lastStreamID: Int32? = nil, errorCode: UInt32 = 0, _ reason: String = "") {
        let data = reason.isEmpty ? [] : Array(#"{"reason":"\#(reason)"}"#.utf8)
        self.links[self.current]?.server.goAway(lastStreamID: lastStreamID, errorCode: errorCode, debugData: data)
        self.exchange()
    }

    func update(maxConcurrentStreams limit: UInt32) {
        self.links[self.current]?.server.update(maxConcurrentStreams: limit)
        self.exchange()
    }

    /// Sends bytes that are not from the session.
    func say(_ bytes: [UInt8], on id: ConnectionID? = nil) {
        self.client.received(id ?? self.current, ByteBuffer(bytes: bytes), handed: .max, now: self.moment)
        self.exchange()
    }

    private func complain(_ message: Comment) { Issue.record(message) }

    // MARK: Time and the network

    /// Lets time pass, and does everything that is due meanwhile.
    func pass(_ time: TimeAmount) {
        let end = self.now + time
        var ticks = 0
        while let next = self.client.nextDeadline, next <= end {
            ticks = next <= self.now ? ticks + 1 : 0
            guard ticks < 10 else { return self.complain("it spins") }
            self.epochSeconds += UInt32(max((next - self.now).nanoseconds, 0) / 1_000_000_000)
            self.now = max(self.now, next)
            self.tick()
        }
        self.epochSeconds += UInt32((end - self.now).nanoseconds / 1_000_000_000)
        self.now = end
    }

    /// Lets time pass until a request arrives.
    func passUntilSomethingArrives(within limit: TimeAmount) {
        let (end, count) = (self.now + limit, self.arrived.count)
        while self.arrived.count == count, let next = self.client.nextDeadline, next <= end {
            self.now = max(self.now, next)
            self.tick()
        }
    }

    /// Lets time pass until this many requests have arrived in total.
    func passUntilArrived(_ count: Int, within limit: TimeAmount) {
        let end = self.now + limit
        while self.arrived.count < count, self.now < end { self.pass(.seconds(1)) }
    }

    func tick() {
        self.client.tick(now: self.moment)
        self.exchange()
    }

    /// Carries bytes in both directions until neither side sends any.
    func exchange() {
        self.settleAccounts()
        var isMoving = true
        while isMoving {
            isMoving = false
            for id in self.links.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
                if self.carry(id) { isMoving = true }
            }
        }
    }

    private func carry(_ id: ConnectionID) -> Bool {
        guard let link = self.links[id], !link.isStuck else { return false }
        var hasMoved = false
        var buffer = ByteBuffer()
        if self.client.needsAuthorization { self.client.authorized(self.tokens.authorize(self.moment)) }
        if self.client.write(id, into: &buffer, atMost: 1 << 14, now: self.moment) {
            hasMoved = true
            link.sent += UInt64(buffer.readableBytes)
            link.handed = link.sent
            link.bytes += Array(buffer.readableBytesView)
            self.client.flushed(id, at: link.sent, now: self.moment)
            do {
                try buffer.withUnsafeReadableBytes { try link.server.receive($0) }
            } catch {
                Issue.record(error)
            }
        }
        self.readEvents(of: link, id)
        var reply = ByteBuffer()
        if !link.isSilent, link.server.write(into: &reply, atMost: .max) {
            hasMoved = true
            self.client.received(id, reply, handed: .max, now: self.moment)
        }
        self.settleAccounts()
        return hasMoved
    }

    private func readEvents(of link: Link, _ id: ConnectionID) {
        while let event = link.server.nextEvent() {
            switch event {
            case .ended(let stream):
                var fields: [String: String] = [:]
                var names: [String] = []
                link.server.forEachField(of: stream) {
                    names.append(String(decoding: $0, as: UTF8.self))
                    fields[String(decoding: $0, as: UTF8.self)] = String(decoding: $1, as: UTF8.self)
                }
                let payload = link.server.withBody(of: stream) { String(decoding: $0, as: UTF8.self) }
                let name = UInt32(payload.drop { !$0.isNumber }.prefix { $0.isNumber }) ?? 0
                self.arrived.append(name)
                self.requests.append(Request(connection: id, stream: stream, name: name, fields: fields, names: names))
            case .closed(let stream, _):
                self.requests.removeAll { $0.connection == id && $0.stream == stream }
            default: break
            }
        }
    }

    func settleAccounts() {
        var actions = self.client.takeSteps()
        while !actions.isEmpty {
            for action in actions { self.carryOut(action) }
            actions = self.client.takeSteps()
        }
        for record in self.client.outcomes.records + self.client.outcomes.awaited {
            self.outcomes[UInt32(record.tag.rawValue), default: []].append(record)
        }
        self.client.outcomes.records = []
        self.client.outcomes.awaited = []
        self.events += self.client.takeEvents()
    }

    private func carryOut(_ action: ConnectionStep) {
        switch action {
        case .dial(let id):
            self.dialCount += 1
            self.dials.append(id)
        case .close(let id):
            self.closed.append(id)
            self.links[id] = nil
            self.requests.removeAll { $0.connection == id }
            self.dials.removeAll { $0 == id }
        case .finish(let id):
            self.finished.append(id)
        case .refused(let reason, let token):
            self.refused.append(reason)
            self.tokens.refused(reason, token, self.moment)
        case .sample:
            Issue.record("the system knows nothing of answers")
        }
    }

    var errors: [ProviderError.Code] {
        self.events.compactMap { if case .error(let error) = $0 { error.code } else { nil } }
    }

    var messages: [String] {
        self.events.compactMap { if case .error(let error) = $0 { error.message } else { nil } }
    }

    /// The number of notifications in the client's queue.
    var queued: Int { self.client.queuedCount }
    var underWay: Int { self.client.unsettledCount }
    var isFinished: Bool { self.client.isFinished }
    /// The number of streams in the client's sessions.
    var streamsHeld: Int {
        self.client.connections.ids.reduce(0) { $0 + self.client.connections[$1].streams.session.openCount }
    }
}
