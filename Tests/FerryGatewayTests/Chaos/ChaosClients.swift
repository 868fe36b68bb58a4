import FerryBinary
import FerryMachine
import NIOCore

/// Old programs, one after the other. Random numbers decide what each does.
struct ChaosClients {
    let site: ChaosSite
    let end: ContinuousClock.Instant
    var random: SplitMix64

    init(_ site: ChaosSite, until end: ContinuousClock.Instant, seed: UInt64) {
        self.site = site
        self.end = end
        self.random = SplitMix64(seed: seed)
    }

    mutating func run() async {
        while ContinuousClock.now < self.end {
            // Half of the clients are those that may lose or double something.
            let frequent: [ChaosManner] = [.ferry, .ferry, .resends, .resends, .writesAndCloses, .readsLate]
            let manner = (frequent + ChaosManner.allCases).randomElement(using: &self.random) ?? .ferry
            do {
                try await self.live(manner)
            } catch {
                self.site.account.broke()
            }
        }
    }

    private mutating func live(_ manner: ChaosManner) async throws {
        switch manner {
        case .ferry: try await self.sendByFerry()
        case .writesAndCloses: try await self.writeAndClose()
        case .resends: try await self.resend()
        case .readsLate: try await self.readLate()
        case .drips: try await self.drip()
        case .resets: try await self.reset()
        case .garbles: try await self.garble()
        case .saysNothing: try await self.sayNothing()
        case .readsFeedback: try await self.readFeedback()
        }
    }

    // MARK: Choices

    /// Some clients come from an address of their own: the gateway learns the habits of an address, too.
    mutating func address() -> String? {
        #if os(Linux)
        Bool.random(using: &self.random) ? nil : "127.0.0.\(Int.random(in: 2..<66, using: &self.random))"
        #else
        nil
        #endif
    }

    mutating func isOne(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self.random) == 0 }

    /// Calls `body` with the number of pushes to write, at a random pace, for a random time.
    mutating func atRandomPace(
        atMost burst: Int,
        _ body: (inout Self, Int) async throws -> Void
    ) async throws {
        let rate = Int.random(in: ChaosPace.pushesPerSecond, using: &self.random)
        let life = Int.random(in: self.site.pace.clientLives, using: &self.random)
        let end = min(ContinuousClock.now + .milliseconds(life), self.end)
        repeat {
            let count = Int.random(in: 1...burst, using: &self.random)
            try await body(&self, count)
            try await Task.sleep(for: .milliseconds(1000 * count / rate))
        } while ContinuousClock.now < end
    }

    /// Returns the bytes of new pushes, and notes that they are about to be written.
    mutating func bytes(
        _ count: Int,
        _ command: UInt8,
        by manner: ChaosManner,
        isGood: Bool = false,
        into pushes: inout [ChaosPush]
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<count {
            let push = isGood ? self.site.push(.good, using: &self.random) : self.site.push(using: &self.random)
            pushes.append(push)
            self.site.account.wrote(push.number, manner)
            bytes += push.bytes(command: command, identifier: UInt32(pushes.count))
        }
        return bytes
    }

    func owe(_ pushes: [ChaosPush]) {
        for push in pushes { self.site.account.owes(push.number) }
    }

    // MARK: Clients that never send again

    private mutating func writeAndClose() async throws {
        let connection = try await self.site.connect(.writesAndCloses, from: self.address())
        let command = UInt8.random(in: 0...2, using: &self.random)
        // The system destroys what it has not sent when an error response comes to a closed socket. So only a client
        // that gets no error response may rely on its system.
        let isAbrupt = Bool.random(using: &self.random)
        var pushes: [ChaosPush] = []
        let count = Int.random(in: 1...60, using: &self.random)
        try await connection.write(self.bytes(count, command, by: .writesAndCloses, isGood: isAbrupt, into: &pushes))
        if isAbrupt { await connection.abandon() }
        let isClean = isAbrupt ? true : await connection.finish()
        if isClean { self.owe(pushes) } else { self.site.account.broke() }
        // The pace that other clients keep all the time.
        try await Task.sleep(for: .milliseconds(min(20 * count, self.site.pace.clientLives.upperBound)))
    }

    private mutating func readLate() async throws {
        let connection = try await self.site.connect(.readsLate, from: self.address())
        let command = UInt8.random(in: 0...2, using: &self.random)
        var pushes: [ChaosPush] = []
        try await connection.write(self.bytes(1, command, by: .readsLate, into: &pushes))
        try await connection.stopReading()
        try await self.atRandomPace(atMost: 8) { clients, count in
            try await connection.write(clients.bytes(count, command, by: .readsLate, into: &pushes))
        }
        if await connection.finish() { self.owe(pushes) } else { self.site.account.broke() }
    }

    private mutating func drip() async throws {
        let connection = try await self.site.connect(.drips, from: self.address())
        let kinds: [ChaosPush.Kind] = [.good, .bad, .good]
        let pushes = kinds.map { self.site.account.makePush($0, weather: .random(in: 0...9, using: &self.random)) }
        for push in pushes {
            self.site.account.wrote(push.number, .drips)
            for byte in push.bytes(command: 2, identifier: push.number) {
                try await connection.write([byte])
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        if await connection.finish() { self.owe(pushes) } else { self.site.account.broke() }
    }

    // MARK: Clients that break off

    private mutating func reset() async throws {
        let connection = try await self.site.connect(.resets, from: self.address())
        var pushes: [ChaosPush] = []
        try await self.atRandomPace(atMost: 8) { clients, count in
            try await connection.write(clients.bytes(count, 2, by: .resets, into: &pushes))
        }
        let part = self.site.push(using: &self.random).bytes(command: 2, identifier: 0)
        try await connection.write(Array(part.prefix(.random(in: 1..<part.count, using: &self.random))))
        await connection.reset()
    }

    private mutating func garble() async throws {
        let connection = try await self.site.connect(.garbles, from: self.address())
        var pushes: [ChaosPush] = []
        try await connection.write(self.bytes(5, 2, by: .garbles, into: &pushes))
        let tooLong = ChaosPush.bytes(UInt32.random(in: 200_000...UInt32.max, using: &self.random))
        let garbage: [UInt8] =
            switch Int.random(in: 0..<4, using: &self.random) {
            case 0: [2] + tooLong
            // A token and a payload that are too long: both can be read to their end.
            case 1:
                [1] + Array(repeating: 0, count: 8) + [0, 101] + Array(repeating: 7, count: 101) + [0, 2]
                    + Array("{}".utf8)
            case 2:
                [0, 0, 8] + Array(repeating: 7, count: 8) + ChaosPush.bytes(UInt16(6000))
                    + Array(repeating: 32, count: 6000)
            default: (0..<400).map { _ in UInt8.random(in: 3...255, using: &self.random) }
            }
        try await connection.write(garbage)
        if await connection.finish() { self.owe(pushes) } else { self.site.account.broke() }
    }

    private mutating func sayNothing() async throws {
        let isSecure = Bool.random(using: &self.random)
        let tls = isSecure ? self.site.contexts[ChaosManner.saysNothing.rawValue] : nil
        self.site.account.connected()
        let connection = try await ChaosConnection.open(to: self.site.host, port: self.site.port, tls)
        if self.isOne(in: 3) { try await connection.write(Array("GET / HTTP/1.1\r\n\r\n".utf8)) }
        let life = Int.random(in: self.site.pace.clientLives, using: &self.random)
        try await Task.sleep(until: min(.now + .milliseconds(life), self.end), clock: .continuous)
        await connection.abandon()
    }
}
