import Ferry
import FerryCore
import FerryHTTP2
import FerryMachine
import FerryOpenSSL
import NIOCore
import Synchronization
import Testing

/// Processes that share a provider token through a row of a database, with APNs, in virtual time. Times are in milliseconds
/// since the start.
final class TokenFleet {
    /// One process: a source with clocks of its own.
    struct Process {
        var source: ProviderTokenSource
        /// How far its wall clock is ahead, in seconds.
        var skew: Int64
        /// How long its computer ran at the start.
        var uptime: Int64
        /// When it asks for a token next.
        var next: Int64
        /// Since when it has had no token, with nothing wrong.
        var waitsSince: Int64?
        /// Each change of its token: when, and to which.
        var changes: [(at: Int64, token: String)] = []
        /// When it was told to hold requests, and until when.
        var holds: [(at: Int64, until: Int64)] = []

        var token: String? { self.changes.last?.token }
    }

    static let minute: Int64 = 60_000
    static let keyID = "ABCDE12345"
    static let teamID = "FGHIJ67890"
    private static let epoch: Int64 = 1_700_000_000

    let key: ES256Key
    let place = TokenPlace()
    var processes: [Process] = []
    /// APNs' judgement of a token that is not too old; nil if it accepts it.
    var judge: (_ token: String, _ process: Int) -> Reason? = { _, _ in nil }
    /// How long a process waits between two requests.
    var pauses: ClosedRange<Int64> = 500...5000
    private(set) var now: Int64 = 0
    /// How often APNs refused a token because it was too old.
    private(set) var expired = 0
    /// The longest time without a token while nothing was wrong.
    private(set) var longestWait: Int64 = 0
    private var issued: [String: Int64] = [:]
    private var generator: SplitMix64

    init(_ count: Int = 20, seed: UInt64 = 1, skews: ClosedRange<Int64> = 0...0) throws {
        self.key = try ES256Key.generate()
        self.generator = SplitMix64(seed: seed)
        for _ in 0..<count { try self.start(skew: .random(in: skews, using: &self.generator)) }
    }

    func start(skew: Int64 = 0) throws {
        let uptime = Int64.random(in: 1000...100 * Self.minute, using: &self.generator)
        self.processes.append(
            Process(source: try self.source(), skew: skew, uptime: uptime - self.now, next: self.now)
        )
    }

    func restart(_ index: Int) throws {
        self.processes[index].source = try self.source()
        self.processes[index].waitsSince = nil
        self.processes[index].changes = []
        self.processes[index].next = self.now
    }

    private func source() throws -> ProviderTokenSource {
        try ProviderTokenSource(
            sharingIn: self.place,
            key: self.key,
            keyID: Self.keyID,
            teamID: Self.teamID,
            slept: { .zero }
        )
    }

    // MARK: Time

    func run(untilMinute minute: Int64) { self.run(until: minute * Self.minute) }

    func run(until end: Int64) {
        while true {
            let process = self.processes.indices.min { self.processes[$0].next < self.processes[$1].next }
            let ask = process.map { self.processes[$0].next } ?? .max
            let event = min(ask, self.place.next ?? .max)
            guard event < end else { break }
            self.now = max(self.now, event)
            self.place.advance(to: self.now)
            if let process, ask <= self.now { self.ask(process) }
        }
        self.now = end
        self.place.advance(to: end)
    }

    /// Lets a process make a request now.
    func ask(_ index: Int) {
        let process = self.processes[index]
        let monotonic = NIODeadline.uptimeNanoseconds(UInt64(process.uptime + self.now) * 1_000_000)
        let epochSeconds = UInt32(Self.epoch + self.now / 1000 + process.skew)
        let delay = self.place.delays
        self.place.delay = .random(in: delay, using: &self.generator)
        func time(_ deadline: NIODeadline) -> Int64 { self.now + (deadline - monotonic).nanoseconds / 1_000_000 }
        switch process.source.authorization(now: monotonic, epochSeconds: epochSeconds) {
        case .token(let token):
            self.endWait(index)
            let text = String(decoding: token.headerValue.dropFirst("bearer ".utf8.count), as: UTF8.self)
            if process.token != text { self.processes[index].changes.append((self.now, text)) }
            if let reason = self.answer(text, index) {
                process.source.refused(reason, token, now: monotonic)
                self.processes[index].next = self.now + 1
            } else {
                self.processes[index].next = self.now + .random(in: self.pauses, using: &self.generator)
            }
        case .awaited(let until):
            if process.waitsSince == nil { self.processes[index].waitsSince = self.now }
            self.processes[index].next = max(time(until), self.now + 1)
        case .held(let until):
            self.endWait(index)
            self.processes[index].holds.append((self.now, time(until)))
            self.processes[index].next = max(time(until), self.now + 1)
        case .certificate:
            Issue.record("a certificate from a source of tokens")
        }
    }

    private func endWait(_ index: Int) {
        guard let since = self.processes[index].waitsSince else { return }
        self.longestWait = max(self.longestWait, self.now - since)
        self.processes[index].waitsSince = nil
    }

    /// APNs' answer to a request.
    private func answer(_ token: String, _ index: Int) -> Reason? {
        let issuedAt = self.issuedAt(token)
        if Self.epoch + self.now / 1000 - issuedAt > 3600 {
            self.expired += 1
            return .expiredProviderToken
        }
        return self.judge(token, index)
    }

    private func issuedAt(_ token: String) -> Int64 {
        if let issuedAt = self.issued[token] { return issuedAt }
        let issuedAt = GivenToken(token.utf8)?.issuedAt.map { Int64($0) } ?? 0
        self.issued[token] = issuedAt
        return issuedAt
    }

    // MARK: Checks

    /// The tokens that processes use now.
    var tokens: Set<String> { Set(self.processes.compactMap(\.token)) }

    /// Every token that the present processes have used.
    var allTokens: Set<String> { Set(self.processes.flatMap { $0.changes.map(\.token) }) }

    var holds: Int { self.processes.reduce(0) { $0 + $1.holds.count } }

    /// Checks that a process never changes between two tokens that were made within 20 minutes. Clocks may differ by `slack`
    /// seconds.
    func checkIntervals(slack: Int64 = 0, _ seed: UInt64 = 0) {
        for process in self.processes {
            for (one, next) in zip(process.changes, process.changes.dropFirst()) {
                let interval = self.issuedAt(next.token) - self.issuedAt(one.token)
                #expect(interval >= 1200 - slack, "a change after \(interval) s, seed \(seed)")
            }
        }
    }
}

/// A model of the row and its statement, as ``SharedTokens`` describes them.
final class TokenPlace: SharedTokens {
    enum Mode {
        case here
        /// It answers nil at once.
        case away
        /// It does nothing and never answers.
        case hanging
        /// It takes offers, and its answers are lost.
        case mute
    }

    fileprivate struct Visit: Sendable {
        var at: Int64
        var offer: TokenOffer?
        var answer: SharedToken?
        var then: @Sendable (SharedToken?) -> Void
    }

    fileprivate struct State {
        var now: Int64 = 0
        var clock: Int64 = 0
        var mode = Mode.here
        var delay: Int64 = 0
        var delays: ClosedRange<Int64> = 2...50
        var visits: [Visit] = []
        var row: (token: String, mintedAt: Int64)?
        var mints: [(at: Int64, token: String)] = []
        var offers = 0
    }

    private let state = Mutex(State())

    /// When it does something next.
    var next: Int64? { self.state.withLock { $0.visits.map(\.at).min() } }
    /// Each change of the row: when, and to which token.
    var mints: [(at: Int64, token: String)] { self.state.withLock { $0.mints } }
    var offers: Int { self.state.withLock { $0.offers } }

    var mode: Mode {
        get { self.state.withLock { $0.mode } }
        set { self.state.withLock { $0.mode = newValue } }
    }

    /// The time from an offer to its answer.
    var delays: ClosedRange<Int64> {
        get { self.state.withLock { $0.delays } }
        set { self.state.withLock { $0.delays = newValue } }
    }

    /// The same for the next offer.
    var delay: Int64 {
        get { self.state.withLock { $0.delay } }
        set { self.state.withLock { $0.delay = newValue } }
    }

    /// How far its clock is ahead.
    var clock: Int64 {
        get { self.state.withLock { $0.clock } }
        set { self.state.withLock { $0.clock = newValue } }
    }

    /// Puts a token into the row.
    func set(_ token: String, minutesOld age: Int64) {
        self.state.withLock { $0.row = (token, $0.now + $0.clock - age * TokenFleet.minute) }
    }

    func exchange(_ offer: TokenOffer, then: @escaping @Sendable (SharedToken?) -> Void) {
        let mode = self.state.withLock { state in
            state.offers += 1
            if state.mode == .here || state.mode == .mute {
                state.visits.append(Visit(at: state.now + state.delay / 2, offer: offer, then: then))
            }
            return state.mode
        }
        if mode == .away { then(nil) }
    }

    func advance(to now: Int64) {
        while let visit = self.state.withLock({ $0.step(to: now) }) { visit.then(visit.answer) }
    }
}

extension TokenPlace.State {
    /// Carries out what is due. Returns an answer to deliver.
    fileprivate mutating func step(to now: Int64) -> TokenPlace.Visit? {
        while let index = self.visits.indices.filter({ self.visits[$0].at <= now }).min(by: {
            self.visits[$0].at < self.visits[$1].at
        }) {
            var visit = self.visits.remove(at: index)
            self.now = max(self.now, visit.at)
            guard let offer = visit.offer else { return visit }
            visit.answer = self.exchange(offer)
            visit.offer = nil
            visit.at += self.delay / 2
            if self.mode != .mute { self.visits.append(visit) }
        }
        self.now = now
        return nil
    }

    private mutating func exchange(_ offer: TokenOffer) -> SharedToken? {
        let clock = self.now + self.clock
        if abs(1_700_000_000 + clock / 1000 - Int64(offer.issuedAt)) <= 300 {
            let minute = TokenFleet.minute
            let isTaken =
                self.row.map { row in
                    row.mintedAt < clock - 50 * minute
                        || row.token == offer.worn && row.mintedAt < clock - 20 * minute
                } ?? true
            if isTaken {
                self.row = (offer.token, clock)
                self.mints.append((self.now, offer.token))
            }
        }
        return self.row.map { SharedToken(token: $0.token, age: .milliseconds(clock - $0.mintedAt)) }
    }
}
