import FerryCore
import FerryHTTP2
import NIOCore

/// APNs in the simplest form, on one connection: it follows Apple's documentation, and can repeat the faults of real
/// servers.
///
/// It shares only the session with the client. A notification is known by the number in its payload.
final class ReferenceAPNs {
    /// The answer to a notification.
    struct Verdict {
        var status: Int
        var body: String
        /// How many attempts get this answer. Later ones are accepted.
        var attempts = Int.max

        init(_ status: Int, _ reason: String, attempts: Int = .max) {
            self.status = status
            self.body = #"{"reason":"\#(reason)","timestamp":1437179036000}"#
            self.attempts = attempts
        }
    }

    /// The way in which it closes the connection.
    enum Farewell: CaseIterable {
        /// All requests that arrived will be answered.
        case processed
        /// Requests that were not processed yet will not be.
        case unprocessed
        /// First a notice, then the same as `unprocessed`.
        case graceful
        /// A GOAWAY with ENHANCE_YOUR_CALM.
        case enhanceYourCalm
    }

    struct Rules {
        /// SETTINGS_MAX_CONCURRENT_STREAMS: the first value, and the value after a number of requests.
        var streamLimit: UInt32 = 100
        var laterLimits: [(after: Int, limit: UInt32)] = []
        var initialWindow: UInt32 = 65_535
        /// How many bytes of each body are read at a time.
        var readsAtATime = Int.max
        var verdicts: [UInt32: Verdict] = [:]
        var answerDelay = 0...5
        /// One request in this many; 0: none.
        var refusesOneIn = 0
        var resetsOneIn = 0
        var silentOneIn = 0
        /// The notifications that it refuses as too large before it has read them.
        var tooLarge: Set<UInt32> = []
        /// The number of requests on the connection before it.
        var farewellAfter: Int?
        var farewell = Farewell.processed
        /// The number of requests on the connection before it is gone, without a word. Nothing more is processed.
        var closesAfter: Int?
        /// The number of requests after which it resets all unanswered ones.
        var resetsAllAfter: Int?
        var silentAfter: Int?
        var babblesAfter: Int?
        var promisesAfter: Int?
        /// Whether it never sends anything, not even SETTINGS.
        var saysNothing = false
        /// Whether it never reads.
        var readsNothing = false
        /// Whether it answers every request with a server error, or refuses every stream.
        var failsAll = false
        var refusesAll = false
        /// Whether it sends PING all the time and never closes.
        var isTalkative = false
        /// Whether it sends 103 before answers, and trailers after them.
        var isVerbose = false
        /// The number of requests with one provider token after which the token has expired.
        var tokenLasts = Int.max
        /// The number of answers that are TooManyProviderTokenUpdates.
        var tooManyUpdates = 0
        /// The number of connections that are bound to another key.
        var unrelatedKeys = 0
        var hasTokens = false
    }

    /// The data that all connections to APNs share.
    final class Books {
        /// How often each notification was accepted.
        var accepted: [UInt32: Int] = [:]
        var attempts: [UInt32: Int] = [:]
        var identifiers: [UInt32: Set<String>] = [:]
        var requestsOfToken: [String: Int] = [:]
        var tooManyUpdates = 0
        var connections = 0
        /// The client's mistakes.
        var faults: [String] = []
        var notes: [String] = []
    }

    private let rules: Rules
    private let books: Books
    private var session: HTTP2Session
    private var block = HeaderBlock()
    private let number: Int
    private var requests = 0
    private var open: Set<HTTP2Session.Stream> = []
    private var isAuthenticated: Bool
    private var answers: [(due: NIODeadline, stream: HTTP2Session.Stream, status: Int, body: String)] = []
    private var read: [HTTP2Session.Stream: Int] = [:]
    private var lastProcessed: Int32 = 0
    /// The last stream that is processed.
    private var lastAllowed = Int32.max
    private var secondFarewell: NIODeadline?
    private var nextWord: NIODeadline?
    /// Bytes to send that are not from the session.
    private var extra: [UInt8] = []
    /// The number of requests for each notification on this connection, and the place of each stream among them.
    private var copies: [UInt32: Int] = [:]
    private var copy: [HTTP2Session.Stream: Int] = [:]
    /// The acceptances, with the end of each answer in the bytes that were sent.
    private(set) var told: [(end: Int, name: UInt32, copy: Int)] = []
    private var unsaid: [(name: UInt32, copy: Int)] = []
    private var said = 0
    /// Whether its bytes are garbled from now on.
    private var isGarbled = false
    /// Whether it had read some of a body when it last sent bytes.
    private(set) var hasConsumed = false
    private(set) var hasEnded = false

    init(_ rules: Rules, _ books: Books) throws {
        self.rules = rules
        self.books = books
        self.isAuthenticated = !rules.hasTokens
        books.connections += 1
        self.number = books.connections
        var settings = HTTP2Session.Settings()
        settings.maxConcurrentStreams = rules.streamLimit
        settings.initialWindowSize = rules.initialWindow
        settings.updatesWindows = rules.readsAtATime == .max
        self.session = try HTTP2Session(role: .server, settings: settings)
    }

    var readsNothing: Bool { self.rules.readsNothing }

    var isTalkative: Bool { self.rules.isTalkative }

    // MARK: Input

    func receive(_ bytes: some Collection<UInt8>, now: NIODeadline, _ choices: inout Choices) {
        guard !self.hasEnded else { return }
        do {
            try Array(bytes).withUnsafeBytes { try self.session.receive($0) }
        } catch {
            self.books.faults.append("no HTTP/2: \(error)")
        }
        self.readEvents(now: now, &choices)
    }

    private func readEvents(now: NIODeadline, _ choices: inout Choices) {
        while let event = self.session.nextEvent() {
            switch event {
            case .headers(let stream, _): self.began(stream, now: now, &choices)
            case .ended(let stream): self.process(stream, now: now, &choices)
            case .closed(let stream, _):
                self.open.remove(stream)
                self.read[stream] = nil
                self.copy[stream] = nil
            default: break
            }
        }
    }

    private func began(_ stream: HTTP2Session.Stream, now: NIODeadline, _ choices: inout Choices) {
        self.requests += 1
        self.open.insert(stream)
        if !self.isAuthenticated, self.open.count > 1 { self.books.faults.append("two requests at the cold start") }
        for later in self.rules.laterLimits where later.after == self.requests {
            self.session.update(maxConcurrentStreams: later.limit)
        }
        if self.requests == self.rules.farewellAfter { self.sayFarewell(now: now) }
        if self.requests == self.rules.closesAfter { self.hasEnded = true }
        if self.requests == self.rules.resetsAllAfter { self.resetAll() }
        if self.requests == self.rules.babblesAfter {
            self.isGarbled = true
            self.extra += (0..<choices.number(1...60)).map { _ in UInt8(choices.number(0...255)) }
        }
        if self.requests == self.rules.promisesAfter {
            self.isGarbled = true
            self.extra += RawFrame.pushPromise(self.session.streamID(of: stream), promised: 2)
        }
        guard let name = self.field("apns-collapse-id", stream).flatMap({ UInt32($0) }) else { return }
        self.copies[name, default: 0] += 1
        self.copy[stream] = self.copies[name]
        if self.rules.tooLarge.contains(name) { self.answer(stream, 413, #"{"reason":"PayloadTooLarge"}"#) }
    }

    private func resetAll() {
        self.requests = 0
        self.answers.removeAll { self.open.contains($0.stream) }
        for stream in self.open { self.session.reset(stream, errorCode: 2) }
        self.open.removeAll()
    }

    private func field(_ name: String, _ stream: HTTP2Session.Stream) -> String? {
        var found: String?
        self.session.forEachField(of: stream) {
            if String(decoding: $0, as: UTF8.self) == name { found = String(decoding: $1, as: UTF8.self) }
        }
        return found
    }

    private func process(_ stream: HTTP2Session.Stream, now: NIODeadline, _ choices: inout Choices) {
        let id = self.session.streamID(of: stream)
        guard !self.hasEnded, self.open.contains(stream), id <= self.lastAllowed,
            self.requests <= self.rules.silentAfter ?? .max,
            !choices.isOne(in: self.rules.silentOneIn)
        else { return }
        if self.rules.refusesAll || choices.isOne(in: self.rules.refusesOneIn) {
            return self.session.reset(stream, errorCode: 7)
        }
        let isReset = choices.isOne(in: self.rules.resetsOneIn)
        // The reset comes before or after the request was processed.
        if isReset, choices.isOne(in: 2) { return self.session.reset(stream, errorCode: 2) }
        self.lastProcessed = max(self.lastProcessed, id)
        let (status, body, name) = self.judge(stream)
        if status == 200 { self.books.accepted[name, default: 0] += 1 }
        if isReset { return self.session.reset(stream, errorCode: 2) }
        let delay = choices.number(self.rules.answerDelay)
        self.answers.append((now + .milliseconds(Int64(delay)), stream, status, body))
    }

    private func judge(_ stream: HTTP2Session.Stream) -> (status: Int, body: String, name: UInt32) {
        let payload = self.session.withBody(of: stream) { String(decoding: $0, as: UTF8.self) }
        let name = UInt32(payload.drop { !$0.isNumber }.prefix { $0.isNumber }) ?? .max
        self.books.identifiers[name, default: []].insert(self.field("apns-id", stream) ?? "none")
        if self.rules.hasTokens {
            guard let token = self.field("authorization", stream) else {
                self.books.faults.append("no token")
                return (403, #"{"reason":"MissingProviderToken"}"#, name)
            }
            if self.number <= self.rules.unrelatedKeys { return (403, #"{"reason":"UnrelatedKeyIdInToken"}"#, name) }
            self.books.requestsOfToken[token, default: 0] += 1
            // Tokens after the first few are always valid.
            if self.books.requestsOfToken.count < 3,
                self.books.requestsOfToken[token, default: 0] > self.rules.tokenLasts
            {
                return (403, #"{"reason":"ExpiredProviderToken"}"#, name)
            }
            if self.books.tooManyUpdates < self.rules.tooManyUpdates {
                self.books.tooManyUpdates += 1
                return (429, #"{"reason":"TooManyProviderTokenUpdates"}"#, name)
            }
        }
        self.books.attempts[name, default: 0] += 1
        if self.rules.failsAll { return (500, #"{"reason":"InternalServerError"}"#, name) }
        if let verdict = self.rules.verdicts[name], self.books.attempts[name, default: 0] <= verdict.attempts {
            return (verdict.status, verdict.body, name)
        }
        return (200, "", name)
    }

    // MARK: Output

    private func answer(_ stream: HTTP2Session.Stream, _ status: Int, _ body: String) {
        let id = self.session.streamID(of: stream)
        guard id > 0, self.open.remove(stream) != nil else { return }
        if status != 403, !body.contains("Updates") { self.isAuthenticated = true }
        let identifier = self.field("apns-id", stream) ?? ""
        if status == 200 {
            let payload = self.session.withBody(of: stream) { String(decoding: $0, as: UTF8.self) }
            let name = UInt32(payload.drop { !$0.isNumber }.prefix { $0.isNumber }) ?? .max
            self.unsaid.append((name, self.copy[stream, default: 0]))
        }
        if self.rules.isVerbose, self.extra.isEmpty {
            self.extra += RawFrame.headers(id, [(":status", "103"), ("link", "nowhere")])
            self.extra += RawFrame.headers(id, [(":status", "\(status)"), ("apns-id", identifier)])
            self.extra += RawFrame.data(id, Array(body.utf8))
            self.extra += RawFrame.headers(id, [("x-trailer", "end")], isLast: true)
            // The session learns of it by a reset without an error.
            return self.session.reset(stream, errorCode: 0)
        }
        self.block.clear()
        self.block.append(":status", UInt64(status))
        let bytes = Array(identifier.utf8)
        do {
            try bytes.withUnsafeBufferPointer {
                self.block.append("apns-id", $0, .literal)
                try self.session.respond(to: stream, self.block, body: Array(body.utf8))
            }
        } catch {
            self.books.notes.append("no answer: \(error)")
        }
    }

    private func sayFarewell(now: NIODeadline) {
        switch self.rules.farewell {
        case .processed:
            self.session.goAway()
        case .unprocessed, .enhanceYourCalm:
            self.lastAllowed = self.lastProcessed
            let isCalm = self.rules.farewell == .unprocessed
            self.session.goAway(
                lastStreamID: self.lastAllowed,
                errorCode: isCalm ? 0 : 11,
                debugData: Array(#"{"reason":"Shutdown"}"#.utf8)
            )
        case .graceful:
            self.session.goAway(lastStreamID: .max)
            self.secondFarewell = now + .milliseconds(30)
        }
    }

    /// When it next acts without input.
    var nextDeadline: NIODeadline? {
        guard !self.rules.saysNothing else { return nil }
        return ([self.secondFarewell, self.nextWord] + self.answers.map(\.due)).compactMap { $0 }.min()
    }

    /// Returns the bytes that it sends now.
    func speak(now: NIODeadline, _ choices: inout Choices) -> [UInt8] {
        while let index = self.answers.firstIndex(where: { $0.due <= now }) {
            let next = self.answers.remove(at: index)
            self.answer(next.stream, next.status, next.body)
        }
        if let due = self.secondFarewell, due <= now {
            self.secondFarewell = nil
            self.lastAllowed = self.lastProcessed
            self.session.goAway(lastStreamID: self.lastAllowed)
        }
        if self.rules.isTalkative, (self.nextWord ?? now) <= now {
            self.nextWord = now + .milliseconds(700)
            self.extra += RawFrame.ping
        }
        self.hasConsumed = false
        for stream in self.open.sorted(by: { $0.index < $1.index }) where self.rules.readsAtATime < .max {
            let came = self.session.withBody(of: stream) { $0.count }
            let count = min(came - self.read[stream, default: 0], self.rules.readsAtATime)
            guard count > 0 else { continue }
            self.read[stream, default: 0] += count
            self.hasConsumed = true
            self.session.consume(count, of: stream)
        }
        guard !self.rules.saysNothing, !self.hasEnded else { return [] }
        // The bytes beside the session come first, because the session may reset their stream.
        var bytes = ByteBuffer()
        if self.said == 0 { _ = self.session.write(into: &bytes, atMost: 1) }
        bytes.writeBytes(self.extra)
        self.extra = []
        _ = self.session.write(into: &bytes, atMost: .max)
        self.readEvents(now: now, &choices)
        self.said += bytes.readableBytes
        for (name, copy) in self.unsaid where !self.isGarbled { self.told.append((self.said, name, copy)) }
        self.unsaid = []
        if self.session.isViolated, !self.hasEnded, !self.isGarbled {
            self.hasEnded = true
            let words = String(decoding: bytes.readableBytesView.filter { 0x20...0x7e ~= $0 }, as: UTF8.self)
            self.books.faults.append("the client broke the protocol: \(words)")
        }
        if self.session.isOver { self.hasEnded = true }
        return Array(bytes.readableBytesView)
    }

    /// Returns the acceptances whose answers end within the first `count` bytes that were sent.
    func takeTold(upTo count: Int) -> [(name: UInt32, copy: Int)] {
        let taken = self.told.filter { $0.end <= count }.map { (name: $0.name, copy: $0.copy) }
        self.told.removeAll { $0.end <= count }
        return taken
    }
}
