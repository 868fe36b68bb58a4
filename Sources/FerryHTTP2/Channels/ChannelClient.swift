internal import DequeModule
package import FerryCore
package import FerryMachine
package import NIOCore

/// A client for the management of an app's channels, without I/O. Input: calls, bytes, events and time; output: bytes,
/// steps and results.
///
/// The life of a call:
///
/// ```
///             submit             write                answer
///   ─────────▶ queued ──────────▶ under way ──────────────────────▶ settled
///               ▲ │ deadline,      │  │ no answer: an error that
///               │ │ cancelled,     │  └ says what it may have done ──▶ settled
///               │ │ no connection  │
///               │ ▼ settled        │ not processed, and no creation: once;
///               └──────────────────┘ the token has expired: once
/// ```
///
/// One connection takes requests at a time. It is made when a call waits, and is left after ``idleLimit`` without one.
/// A connection that cannot be made fails every call that waits: the next call tries again.
///
/// Its connections are those of an ``HTTP2Client``, which know a request by the number of its call. Neither a refused
/// stream nor the end of a connection makes it wait: a call is repeated once, and has a deadline.
package struct ChannelClient: ~Copyable {
    /// How long a connection without calls stays open. A network may forget an idle connection without a word, and a
    /// creation on it would stay without an answer.
    package static let idleLimit: TimeAmount = .seconds(30)

    let words: ChannelWords
    let usesTokens: Bool
    private let authority: String
    private let bundleID: String
    let deadline: TimeAmount
    let limits: ConnectionLimits
    var queue: Deque<ChannelCall> = []
    /// The calls whose requests are under way, in the order of writing.
    var requests: [ChannelRequest] = []
    var connections = Connections()
    /// Never narrows, because the client notes no cost of an end.
    var earned: EarnedWindow
    /// Since when the connection that takes requests has none under way; nil: it has, or there is no such connection.
    var idleSince: NIODeadline?
    /// The connection that is being made.
    var dialling: ConnectionID?
    var lastConnection: UInt64 = 0
    /// The present permission to write requests.
    private var authorization: Authorization
    private var keys = TokenKeys()
    private var block = HeaderBlock()
    private var steps: [ConnectionStep] = []
    private var settled: [Settled] = []
    package internal(set) var isShuttingDown = false

    /// The result of a call.
    package struct Settled: Sendable {
        package var call: UInt64
        package var result: Result<ChannelResult, ChannelManagerError>
    }

    /// - Parameters:
    ///   - authority: the value of `:authority`.
    ///   - peer: the server's name in messages.
    ///   - bundleID: the app. It stands in the path, so it must be checked: see ``ChannelRequestFields/isBundleID(_:)``.
    ///   - deadline: how long a call may take.
    ///   - listLimit: the longest list in bytes.
    package init(
        authority: String,
        peer: String,
        bundleID: String,
        usesTokens: Bool,
        deadline: Duration,
        listLimit: Int
    ) {
        self.words = ChannelWords(peer: peer)
        self.authority = authority
        self.bundleID = bundleID
        self.usesTokens = usesTokens
        self.deadline = max(TimeAmount(deadline), .milliseconds(1))
        self.limits = ConnectionLimits(listLimit: max(listLimit, ChannelAnswer.maximumBodyLength))
        self.earned = EarnedWindow(limit: self.limits.maxStreams)
        self.authorization = usesTokens ? .held(until: .distantPast) : .certificate
    }

    // MARK: Queries

    /// Whether something could be written with a token.
    package var needsAuthorization: Bool {
        self.usesTokens && !self.queue.isEmpty && self.connections.taking != nil
    }

    /// Whether a shutdown is complete.
    package var isFinished: Bool {
        self.isShuttingDown && self.queue.isEmpty && self.connections.isEmpty && self.dialling == nil
    }

    /// When ``tick(now:)`` is due.
    package var nextDeadline: NIODeadline? {
        var next = self.connections.deadline(hasWork: false)
        for call in self.queue { next = min(next, call.deadline) }
        for request in self.requests { next = min(next, request.call.deadline) }
        if let idleSince { next = min(next, idleSince + Self.idleLimit) }
        if self.needsAuthorization, case .awaited(let again) = self.authorization { next = min(next, again) }
        return next < .distantFuture ? next : nil
    }

    // MARK: Steps and results

    package mutating func takeSteps() -> [ConnectionStep] {
        defer { self.steps = [] }
        return self.steps
    }

    package mutating func takeSettled() -> [Settled] {
        defer { self.settled = [] }
        return self.settled
    }

    mutating func act(_ step: ConnectionStep) { self.steps.append(step) }

    mutating func settle(_ call: ChannelCall, _ result: Result<ChannelResult, ChannelManagerError>) {
        self.settled.append(Settled(call: call.number, result: result))
    }

    mutating func fail(_ call: ChannelCall, _ error: ChannelManagerError) {
        var error = error
        error.requestID = error.requestID ?? call.requestID
        self.settle(call, .failure(error))
    }

    // MARK: Calls

    /// Takes a call.
    ///
    /// - Parameter number: the number by which its result is returned.
    package mutating func submit(
        _ operation: ChannelOperation,
        call number: UInt64,
        requestID: APNSID,
        now: Moment
    ) {
        let call = ChannelCall(
            number: number,
            operation: operation,
            requestID: requestID,
            deadline: now.monotonic + self.deadline
        )
        guard !self.isShuttingDown else { return self.fail(call, self.words.shutDown(call.operation, .notProcessed)) }
        self.queue.append(call)
        self.connectIfNeeded()
    }

    /// Ends a call now, whatever its state.
    package mutating func cancel(_ number: UInt64, now: Moment) {
        if let place = self.queue.firstIndex(where: { $0.number == number }) {
            let call = self.queue.remove(at: place)
            return self.fail(call, self.words.cancelled(call.operation, .notProcessed))
        }
        if let place = self.requests.firstIndex(where: { $0.call.number == number }) {
            self.requests[place].call.isOver = true
            self.withdraw(at: place) { $0.cancelled($1, $2) }
        }
        self.finishIfDone(now: now)
    }

    /// Takes the present provider token, or the news that there is none.
    ///
    /// - Parameter failure: why there is none, if the source of the tokens says so.
    package mutating func authorized(_ authorization: Authorization, failure: (any Error)?, now: Moment) {
        self.authorization = authorization
        switch authorization {
        case .certificate: return
        case .token(let token):
            // A connection belongs to the key of its first token.
            guard self.keys.use(token) else { return }
            for id in self.connections.ids where self.connections[id].isUsed { self.leave(id, now: now) }
        case .awaited: return
        case .held:
            while let call = self.queue.popFirst() {
                self.fail(call, call.expiry?.error ?? self.words.noToken(call.operation, failure))
            }
        }
        self.finishIfDone(now: now)
    }

    // MARK: Writing

    /// Writes requests and other frames of a connection, until about `limit` bytes. Returns whether there were any.
    package mutating func write(
        _ id: ConnectionID,
        into buffer: inout ByteBuffer,
        atMost limit: Int,
        now: Moment
    ) -> Bool {
        guard self.connections.contains(id), !self.connections[id].isFinished else { return false }
        self.makeRequests(on: id, now: now)
        // Before writing, so that a GOAWAY that is owed now goes out.
        self.finishIfDone(now: now)
        let isWritten = self.connections[id].write(into: &buffer, atMost: limit)
        self.read(id, now: now)
        if self.connections[id].isViolated {
            // Our GOAWAY was written, and says why. Nothing that the peer sends counts any more.
            self.act(.finish(id))
            self.lose(id, handed: .max, now: now) { $0.violation($1, nil, $2) }
        }
        if !isWritten { self.finishIfDone(now: now) }
        return isWritten
    }

    /// Notes that TLS has taken the written bytes, and where the stream of bytes below it ends now.
    package mutating func flushed(_ id: ConnectionID, at end: UInt64) {
        guard self.connections.contains(id) else { return }
        self.connections[id].flushed(at: end)
    }

    private mutating func makeRequests(on id: ConnectionID, now: Moment) {
        while self.connections[id].room > 0, let call = self.queue.first {
            let token: ProviderToken?
            switch self.authorization {
            case .held, .awaited: return
            case .certificate: token = nil
            case .token(let current): token = current
            }
            guard self.connections[id].mayUsePath(now: now) else { return }
            self.queue.removeFirst()
            if let expiry = call.expiry, expiry.generation == token?.generation {
                self.fail(call, expiry.error)
                continue
            }
            do {
                let stream = try ChannelRequestFields.write(
                    call,
                    authority: self.authority,
                    bundleID: self.bundleID,
                    authorization: token?.headerValue,
                    into: &self.block
                ) { (block) throws(HTTP2Error) in
                    try self.connections[id].request(
                        call.number,
                        block,
                        copying: call.operation.body,
                        now: now.monotonic
                    )
                }
                self.requests.append(ChannelRequest(call: call, token: token, connection: id, stream: stream))
            } catch {
                // The session takes no more requests: the call goes to the next connection.
                self.queue.prepend(call)
                return self.leave(id, now: now)
            }
        }
    }
}
