@testable import FerryBinary
@testable import FerryCore
@testable import FerryMachine
import NIOCore

/// A client machine in a world that follows the input. The world keeps its own count of all notifications and outcomes.
struct HostileWorld: ~Copyable {
    private struct Link {
        var isConnected = false
        var written: UInt64 = 0
        var handed: UInt64 = 0
        var acknowledged: UInt64 = 0
        /// The number of identifiers that were given on the connection.
        var issued: UInt64 = 0
    }

    private let options: BinaryOptions
    private var client: BinaryClient
    private var now: NIODeadline = .uptimeNanoseconds(1_000_000_000_000)
    private var epochSeconds: UInt32 = 1_700_000_000
    private var links: [ConnectionID: Link] = [:]
    private(set) var submitted = 0
    private var outcomes: [UInt8] = []
    private var hasUnread = false
    private var isWritable = true

    init(options: BinaryOptions) {
        self.options = options
        self.client = BinaryClient(options: options, seed: 1)
    }

    private var moment: Moment { Moment(monotonic: self.now, epochSeconds: self.epochSeconds) }

    private func link(_ input: inout FuzzInput) -> ConnectionID? {
        let ids = self.links.keys.sorted { $0.rawValue < $1.rawValue }
        return ids.isEmpty ? nil : ids[input.number(0...255) % ids.count]
    }

    // MARK: What happens

    mutating func step(_ input: inout FuzzInput) {
        let what = input.byte() % 14
        switch what {
        case 0, 1: self.submit(&input)
        case 2: self.pass(.nanoseconds(1 << Int64(input.number(0...45))))
        case 3: self.epochSeconds &+= input.uint32() >> UInt32(input.number(0...31))
        case 4: self.client.withdraw([UInt64(input.byte()), UInt64(input.byte())], now: self.moment)
        case 5: (self.client.isPaused, self.hasUnread, self.isWritable) = self.flags(input.byte())
        case 6 where input.byte() > 250:
            self.client.shutDown(proof: input.byte() & 1 == 0 ? .probe : .automatic, now: self.moment)
        default:
            if let id = self.link(&input) { self.happen(what, on: id, &input) }
        }
        self.settleAccounts()
    }

    private func flags(_ byte: UInt8) -> (Bool, Bool, Bool) { (byte & 1 != 0, byte & 2 != 0, byte & 4 == 0) }

    private mutating func happen(_ what: UInt8, on id: ConnectionID, _ input: inout FuzzInput) {
        let handed = self.links[id]?.handed ?? 0
        switch what {
        case 7: self.connect(id)
        case 8, 9: self.write(id, atMost: 1 << input.number(0...16))
        case 10: self.hand(id, input.number(1...16), of: 16)
        case 11:
            var response = ByteBuffer(bytes: self.response(id, &input).bytes)
            let cut = response.readSlice(length: input.number(0...6)) ?? ByteBuffer()
            self.client.received(id, cut, handed: handed, now: self.moment)
            self.client.received(id, response, handed: handed, now: self.moment)
        case 12:
            let bytes = (0..<input.number(0...15)).map { _ in input.byte() }
            self.client.received(id, ByteBuffer(bytes: bytes), handed: handed, now: self.moment)
        default:
            let error = ProviderError(.connectionLost, "lost")
            let ends: [ConnectionEnd] = [
                .endOfStream, .lost(error), .notConnected(error), .credentialsRejected(error),
            ]
            self.links[id] = nil
            self.client.ended(id, ends[input.number(0...3)], handed: handed, now: self.moment)
        }
    }

    private func response(_ id: ConnectionID, _ input: inout FuzzInput) -> ErrorResponse {
        let status = BinaryStatus(rawValue: input.byte())
        let near = Identifier.of(self.options.firstSequence &+ UInt64(input.byte()))
        let identifier = [near, near, 0, input.uint32()][input.number(0...3)]
        return ErrorResponse(status: status, identifier: identifier)
    }

    private mutating func submit(_ input: inout FuzzInput) {
        var batch = PushBatch()
        let payload = Array("{\"a\":\"\(String(repeating: "x", count: input.number(0...255)))\"}".utf8)
        let flags = input.byte()
        let expiration = flags & 1 == 0 ? nil : Expiration(epochSeconds: self.epochSeconds &+ UInt32(flags))
        for _ in 0..<input.number(1...16) {
            let token =
                [UInt8(truncatingIfNeeded: self.submitted)] + Array(repeating: 7, count: flags & 2 == 0 ? 31 : 4)
            do {
                try batch.append(
                    PushNotification(json: payload, expiration: expiration),
                    to: .device(DeviceToken(token)),
                    tag: UInt64(self.submitted),
                    fields: flags & 4 == 0 ? BatchEntry.Fields() : .awaited
                )
            } catch {
                fatalError("\(error)")
            }
            self.submitted += 1
            self.outcomes.append(0)
        }
        // Submit in two parts, like a queue with little room.
        self.client.submit(batch.takeFirst(Int(flags >> 4)), now: self.moment)
        self.client.submit(batch.takeFirst(.max), now: self.moment)
    }

    private mutating func connect(_ id: ConnectionID) {
        self.links[id]?.isConnected = true
        self.client.connected(id, now: self.moment)
    }

    private mutating func write(_ id: ConnectionID, atMost limit: Int) {
        var buffer = ByteBuffer()
        guard self.client.write(id, into: &buffer, atMost: limit, now: self.moment) else { return }
        require(self.links[id]?.isConnected == true, "written before it was connected")
        self.links[id]?.written += UInt64(buffer.readableBytes)
        self.client.flushed(id, at: self.links[id]?.written ?? 0, now: self.moment)
        self.read(&buffer, id)
    }

    /// Checks that the written bytes are notifications, numbered without gaps.
    private mutating func read(_ buffer: inout ByteBuffer, _ id: ConnectionID) {
        while buffer.readableBytes > 0 {
            let expected = Identifier.of(self.options.firstSequence &+ (self.links[id]?.issued ?? 0))
            self.links[id]?.issued += 1
            switch NotificationDecoder().peek(buffer) {
            case .notification(let frame):
                require(frame.identifier ?? expected == expected, "the numbers have a gap")
                buffer.moveReaderIndex(forwardBy: frame.length)
            case .refused(let refusal):
                require(refusal.fault == .missingToken && refusal.identifier == expected, "no probe: \(refusal)")
                buffer.moveReaderIndex(forwardBy: refusal.length)
            case let step: fatalError("written, and cannot be read: \(step)")
            }
        }
    }

    private mutating func hand(_ id: ConnectionID, _ share: Int, of all: UInt64) {
        guard let link = self.links[id] else { return }
        self.links[id]?.acknowledged = link.handed
        self.links[id]?.handed += (link.written - link.handed) * UInt64(share) / all
    }

    /// Advances the time, and ticks the client at each deadline on the way.
    private mutating func pass(_ time: TimeAmount) {
        let end = self.now + time
        for _ in 0..<64 {
            guard let next = self.client.nextDeadline, next <= end else { break }
            self.now = max(self.now, next)
            self.client.tick(now: self.moment)
            self.settleAccounts()
        }
        self.now = end
    }

    // MARK: The owner

    private mutating func settleAccounts() {
        var actions = self.client.takeSteps()
        while !actions.isEmpty {
            for action in actions { self.carryOut(action) }
            actions = self.client.takeSteps()
        }
        for record in self.client.outcomes.records + self.client.outcomes.awaited {
            self.outcomes[Int(record.tag.rawValue)] += 1
            require(self.outcomes[Int(record.tag.rawValue)] == 1, "a second outcome: \(record)")
        }
        self.client.outcomes.records = []
        self.client.outcomes.awaited = []
        _ = self.client.takeEvents()
    }

    private mutating func carryOut(_ action: ConnectionStep) {
        switch action {
        case .dial(let id):
            self.links[id] = Link()
            require(self.links.count <= self.options.maxConnections, "more connections than allowed")
        case .close(let id):
            require(self.links.removeValue(forKey: id) != nil, "closed what is not there")
        case .finish(let id):
            require(self.links[id]?.isConnected == true, "finished what is not connected")
        case .sample(let id):
            let sample = TransportSample(
                acknowledged: self.links[id]?.acknowledged ?? 0,
                handed: self.links[id]?.handed ?? 0,
                hasUnread: self.hasUnread,
                isWritable: self.isWritable
            )
            self.client.sampled(id, sample, now: self.moment)
        case .refused:
            require(false, "there are no provider tokens")
        }
    }

    // MARK: What holds

    func check() {
        require(self.client.queuedCount >= 0 && self.client.unsettledCount >= 0, "less than nothing")
        // A notification that is sent again may be in a queue, too, but never twice.
        require(self.client.queuedCount + self.client.unsettledCount <= self.submitted, "something is held twice")
        require(self.client.outcomes.counts.settled == self.outcomes.count { $0 == 1 }, "the counts are wrong")
        let open = self.outcomes.count { $0 == 0 }
        require(self.client.queuedCount + self.client.unsettledCount >= open, "something is lost")
    }

    func checkEnd() {
        require(self.client.isFinished && self.links.isEmpty, "not finished")
        require(self.outcomes.allSatisfy { $0 == 1 }, "something has no outcome")
    }

    /// Abandons the client, like an owner that waits no longer.
    mutating func end() {
        let handed = self.links.mapValues(\.handed)
        self.client.abandon(
            undelivered: .shutDown,
            uncertain: .shutDown,
            handed: { handed[$0] ?? 0 },
            now: self.moment
        )
        self.settleAccounts()
    }

    /// Shuts down while everything works. So the shutdown must finish.
    mutating func finish() {
        (self.client.isPaused, self.hasUnread, self.isWritable) = (false, false, true)
        self.client.shutDown(proof: .silence, now: self.moment)
        self.settleAccounts()
        for _ in 0..<20_000 where !self.client.isFinished {
            for id in self.links.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
                if self.links[id]?.isConnected == false { self.connect(id) }
                self.write(id, atMost: 1 << 16)
                self.hand(id, 1, of: 1)
                self.hand(id, 1, of: 1)
                self.settleAccounts()
            }
            guard let next = self.client.nextDeadline else { break }
            self.now = max(self.now, next)
            self.client.tick(now: self.moment)
            self.settleAccounts()
        }
    }
}
