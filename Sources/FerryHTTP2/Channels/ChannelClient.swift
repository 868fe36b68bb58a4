internal import BasicContainers
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
package struct ChannelClient: ~Copyable {
    /// One TLS record: with larger writes, client and server take turns and each idles.
    package static let chunk = 16 << 10
    /// How long a connection without calls stays open. A network may forget an idle connection without a word, and a
    /// creation on it would stay without an answer.
    package static let idleLimit: TimeAmount = .seconds(30)
    /// How long a connection may take to end.
    static let lingerLimit: TimeAmount = .seconds(5)

    let words: ChannelWords
    let usesTokens: Bool
    private let authority: String
    private let bundleID: String
    let deadline: TimeAmount
    let listLimit: Int
    var queue: Deque<ChannelCall> = []
    var connections = UniqueArray<ChannelConnection>()
    /// The connection that is being made.
    private(set) var dialling: ConnectionID?
    private var lastConnection: UInt64 = 0
    /// The present permission to write requests.
    private var authorization: Authorization
    private var block = HeaderBlock()
    private var steps: [ConnectionStep] = []
    private var settled: [Settled] = []
    package private(set) var isShuttingDown = false

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
        self.listLimit = max(listLimit, ChannelAnswer.maximumBodyLength)
        self.authorization = usesTokens ? .held(until: .distantPast) : .certificate
    }

    // MARK: Queries

    /// Whether something could be written with a token.
    package var needsAuthorization: Bool {
        self.usesTokens && !self.queue.isEmpty && self.openPlace != nil
    }

    /// Whether a shutdown is complete.
    package var isFinished: Bool {
        self.isShuttingDown && self.queue.isEmpty && self.connections.isEmpty && self.dialling == nil
    }

    /// When ``tick(now:)`` is due.
    package var nextDeadline: NIODeadline? {
        var next = self.queue.reduce(NIODeadline.distantFuture) { min($0, $1.deadline) }
        for place in self.connections.indices {
            for request in self.connections[place].requests { next = min(next, request.call.deadline) }
            if let since = self.connections[place].idleSince { next = min(next, since + Self.idleLimit) }
            if let closesAt = self.connections[place].closesAt { next = min(next, closesAt) }
        }
        return next < .distantFuture ? next : nil
    }

    func place(of id: ConnectionID) -> Int? {
        for place in self.connections.indices where self.connections[place].id == id { return place }
        return nil
    }

    /// The place of the connection that takes requests.
    private var openPlace: Int? {
        for place in self.connections.indices where self.connections[place].isOpen { return place }
        return nil
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
        now: NIODeadline
    ) {
        let call = ChannelCall(
            number: number,
            operation: operation,
            requestID: requestID,
            deadline: now + self.deadline
        )
        guard !self.isShuttingDown else { return self.fail(call, self.words.shutDown(call.operation, .notProcessed)) }
        self.queue.append(call)
        self.connectIfNeeded()
    }

    /// Ends a call now, whatever its state.
    package mutating func cancel(_ number: UInt64, now: NIODeadline) {
        if let place = self.queue.firstIndex(where: { $0.number == number }) {
            let call = self.queue.remove(at: place)
            return self.fail(call, self.words.cancelled(call.operation, .notProcessed))
        }
        for place in self.connections.indices {
            while let (request, fate) = self.connections[place].take(
                handed: nil,
                now: now,
                where: { $0.call.number == number }
            ) {
                var request = request
                request.call.isOver = true
                self.lost(request, fate) { $0.cancelled($1, $2) }
            }
        }
        self.finishIfDone(now: now)
    }

    /// Takes the present provider token, or the news that there is none.
    ///
    /// - Parameter failure: why there is none, if the source of the tokens says so.
    package mutating func authorized(_ authorization: Authorization, failure: (any Error)?, now: NIODeadline) {
        self.authorization = authorization
        guard case .held = authorization else { return }
        while let call = self.queue.popFirst() {
            self.fail(call, call.expiry?.error ?? self.words.noToken(call.operation, failure))
        }
        self.finishIfDone(now: now)
    }

    // MARK: Connections

    /// Makes a connection if a call waits for one.
    mutating func connectIfNeeded() {
        guard !self.queue.isEmpty, self.dialling == nil, self.openPlace == nil else { return }
        self.lastConnection += 1
        let id = ConnectionID(self.lastConnection)
        self.dialling = id
        self.act(.dial(id))
    }

    /// Takes the news that a connection is established.
    package mutating func connected(_ id: ConnectionID, now: NIODeadline) {
        guard self.dialling == id else { return self.act(.close(id)) }
        self.dialling = nil
        do {
            self.connections.append(try ChannelConnection(id: id, listLimit: self.listLimit, now: now))
        } catch {
            self.act(.close(id))
            self.failQueue { $0.violation($1, error, .notProcessed) }
        }
        self.finishIfDone(now: now)
    }

    /// Takes the news that a connection has ended, or could not be made.
    ///
    /// - Parameter handed: the number of bytes that the system took of the stream below TLS.
    package mutating func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64, now: NIODeadline) {
        if self.dialling == id {
            self.dialling = nil
            return self.failQueue { $0.ended($1, end, .notProcessed) }
        }
        self.lose(id, handed: handed, now: now) { $0.ended($1, end, $2) }
    }

    /// Removes a connection. Fails the requests under way, and also those that wait if it was of no use at all: another
    /// connection would be of none, either.
    mutating func lose(
        _ id: ConnectionID,
        handed: UInt64,
        now: NIODeadline,
        _ error: (ChannelWords, ChannelOperation, ChannelWords.Effect) -> ChannelManagerError
    ) {
        guard let place = self.place(of: id) else { return }
        var connection = self.connections.remove(at: place)
        let isUseless = !connection.hasAnswered && (connection.isOpen || connection.session.isViolated)
        while let (request, fate) = connection.take(handed: handed, now: now, where: { _ in true }) {
            self.lost(request, fate, error)
        }
        if isUseless { self.failQueue { error($0, $1, .notProcessed) } }
        self.connectIfNeeded()
    }

    mutating func failQueue(_ error: (ChannelWords, ChannelOperation) -> ChannelManagerError) {
        while let call = self.queue.popFirst() { self.fail(call, error(self.words, call.operation)) }
    }

    // MARK: Writing

    /// Writes requests and other frames of a connection, until about `limit` bytes. Returns whether there were any.
    package mutating func write(
        _ id: ConnectionID,
        into buffer: inout ByteBuffer,
        atMost limit: Int,
        now: NIODeadline
    ) -> Bool {
        guard let place = self.place(of: id) else { return false }
        self.makeRequests(on: place)
        // Before writing, so that a GOAWAY that is owed now goes out.
        self.finishIfDone(now: now)
        let isWritten = self.connections[place].write(into: &buffer, atMost: limit)
        self.read(id, now: now)
        if let place = self.place(of: id), self.connections[place].session.isViolated {
            // Our GOAWAY was written, and says why. Nothing that the peer sends counts any more.
            self.act(.finish(id))
            self.lose(id, handed: .max, now: now) { $0.violation($1, nil, $2) }
        }
        if !isWritten { self.finishIfDone(now: now) }
        return isWritten
    }

    /// Notes that TLS has taken the written bytes, and where the stream of bytes below it ends now.
    package mutating func flushed(_ id: ConnectionID, at end: UInt64) {
        guard let place = self.place(of: id) else { return }
        self.connections[place].flushed(at: end)
    }

    private mutating func makeRequests(on place: Int) {
        while self.connections[place].room > 0, let call = self.queue.first {
            let token: ProviderToken?
            switch self.authorization {
            case .held: return
            case .certificate: token = nil
            case .token(let current):
                // A connection belongs to the key of its first token.
                if let key = self.connections[place].key, key != current.key {
                    return self.connections[place].leave(owesGoAway: true)
                }
                token = current
            }
            self.queue.removeFirst()
            if let expiry = call.expiry, expiry.generation == token?.generation {
                self.fail(call, expiry.error)
                continue
            }
            do {
                try ChannelRequestFields.write(
                    call,
                    authority: self.authority,
                    bundleID: self.bundleID,
                    authorization: token?.headerValue,
                    into: &self.block
                ) { (block) throws(HTTP2Error) in
                    try self.connections[place].request(call, block, token: token)
                }
            } catch {
                // The session takes no more requests: the call goes to the next connection.
                self.queue.prepend(call)
                return self.connections[place].leave(owesGoAway: true)
            }
        }
    }

    // MARK: The end

    /// Ends what was not written, lets the requests under way get their answers, and then ends the connections.
    package mutating func shutDown(now: NIODeadline) {
        self.isShuttingDown = true
        self.failQueue { $0.shutDown($1, .notProcessed) }
        if let dialling { self.act(.close(dialling)) }
        self.dialling = nil
        for place in self.connections.indices { self.connections[place].leave(owesGoAway: true) }
        self.finishIfDone(now: now)
    }

    /// Ends every call and closes every connection now.
    package mutating func abandon(handed: (ConnectionID) -> UInt64, now: NIODeadline) {
        self.shutDown(now: now)
        while !self.connections.isEmpty {
            let id = self.connections[0].id
            self.act(.close(id))
            self.lose(id, handed: handed(id), now: now) { $0.shutDown($1, $2) }
        }
    }

    /// Finishes the connections that are to be left and have nothing under way, and connects if a call waits.
    mutating func finishIfDone(now: NIODeadline) {
        for place in self.connections.indices
        where self.connections[place].finishIfDone(until: now + Self.lingerLimit) {
            self.act(.finish(self.connections[place].id))
        }
        self.connectIfNeeded()
    }
}
