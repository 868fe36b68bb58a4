internal import FerryCore

/// A receiver of App Store Server Notifications. It gets requests and returns the statuses of the answers.
///
/// Use it in any HTTP server, or use ``AppStoreServer``. Safe from any thread.
///
/// | case | status |
/// |---|---|
/// | verified and handed over, now or before; GET and HEAD | 200 |
/// | not a notification | 400 |
/// | not signed by Apple; for another app; a wrong shared secret | 403 |
/// | another method | 405 |
/// | larger than 256 KiB; with version 1, 2 MiB | 413 |
/// | for an environment that is not served; not verifiable now; not handed over; shutting down | 503 |
/// | genuine, but in a form that this version does not know | 500 |
///
/// No answer has a body. After a status other than 200, Apple repeats the notification in production, but not always
/// after 400. In the sandbox Apple repeats nothing.
///
/// Source of the statuses: "Responding to App Store Server Notifications" (Apple).
public final class AppStoreReceiver: Sendable {
    private struct State {
        var table: HandOverTable<HandOverCall>
        var isShutDown = false
    }

    /// The longest time until the answer, by default. Apple does not document its own limit. After 30 s Apple has given
    /// up.
    public static let answerLimit: Duration = .seconds(3)

    private let verifier: AppStoreVerifier
    private let handOver: AppStoreHandOver
    private let answerLimit: Duration
    private let state: Locked<State>
    /// The signal that is raised when a hand-over ends. ``shutDown(within:)`` waits for it.
    private let ends = Signal()
    private let onEvent: (@Sendable (AppStoreReceiverEvent) -> Void)?

    /// The largest body in bytes. A server should refuse a larger body before it has read the whole body.
    public let bodyLimit: Int

    /// - Parameters:
    ///   - verifier: decides whether a post is genuine, and whether its app is served.
    ///   - handOver: the event that must happen before the answer is 200.
    ///   - answerLimit: the longest time from the last byte of a post to the answer. After this time, the answer is
    ///     503, and Apple repeats the notification in production.
    ///   - onEvent: gets the result of each request, on any thread, except GET, HEAD and requests with a body that is
    ///     too large. The function must not block.
    public init(
        _ verifier: AppStoreVerifier,
        handOver: AppStoreHandOver,
        answerLimit: Duration = answerLimit,
        onEvent: (@Sendable (AppStoreReceiverEvent) -> Void)? = nil
    ) {
        self.verifier = verifier
        self.handOver = handOver
        self.answerLimit = answerLimit
        self.onEvent = onEvent
        self.bodyLimit = verifier.takesVersion1 ? RequestLimit.version1 : RequestLimit.version2
        if case .store(let store) = handOver { store.keepCertificates(of: verifier) }
        let remembers = if case .handler = handOver { true } else { false }
        self.state = Locked(State(table: HandOverTable(remembers: remembers)))
    }

    /// Refuses all further notifications with 503, and waits for the running hand-overs.
    ///
    /// - Returns: the number of hand-overs that still run after `limit`, or when the task is cancelled.
    @discardableResult
    public func shutDown(within limit: Duration) async -> Int {
        self.state.withLock { $0.isShutDown = true }
        let end = ContinuousClock.now + limit
        while !Task.isCancelled {
            let seen = self.ends.count
            let left = end - .now
            guard self.runningCount > 0, left > .zero else { break }
            await self.ends.wait(beyond: seen, limit: left)
        }
        return self.runningCount
    }

    private var runningCount: Int { self.state.withLock { $0.table.runningCount } }

    /// Answers a request. Returns the status within the limit, or up to 2 s later with
    /// ``AppStoreVerifier/Configuration/checksRevocation``. A cancelled task gets the answer, too.
    public func answer(to request: AppStoreRequest) async -> Int {
        await self.answer(to: request, until: (request.received ?? .now) + self.answerLimit)
    }

    @concurrent
    private func answer(to request: AppStoreRequest, until end: ContinuousClock.Instant) async -> Int {
        switch request.method {
        case "POST": break
        // A load balancer sends GET or HEAD to check that the receiver is alive.
        case "GET", "HEAD": return self.state.withLock(\.isShutDown) ? 503 : 200
        default: return self.misdirected(405)
        }
        guard request.body.count <= self.bodyLimit else { return 413 }
        do throws(AppStoreVerificationError) {
            // During a flood, requests wait for a thread. A request that has waited too long is refused without a
            // check.
            guard ContinuousClock.now < end else {
                throw AppStoreVerificationError(.tryAgain, "The receiver is overloaded.")
            }
            let notification = try await self.verifier.verifyOnline(post: request.body)
            let left = end - ContinuousClock.now
            return await self.handOver(notification, post: request.body, within: left)
        } catch {
            let status = Self.status(error)
            self.onEvent?(.refused(error, status: status))
            return status
        }
    }

    /// Reports a request whose path or method is not that of a post of the App Store. Returns `status`.
    func misdirected(_ status: Int) -> Int {
        self.onEvent?(.misdirected(status: status))
        return status
    }

    private static func status(_ error: AppStoreVerificationError) -> Int {
        switch error.code {
        case .malformed: 400
        case .forged, .otherApp: 403
        case .otherEnvironment, .tryAgain: 503
        case .notUnderstood: 500
        }
    }

    private func handOver(_ notification: AppStoreNotification, post: [UInt8], within limit: Duration) async -> Int {
        let uuid = notification.uuid
        let action = self.state.withLock { state in
            state.isShutDown ? nil : state.table.arrived(uuid) { HandOverCall() }
        }
        let result: HandOverResult?
        var isCopy = false
        switch action {
        case .begin(let call):
            self.begin(call, notification, post)
            result = await call.result(within: limit)
        case .join(let call):
            isCopy = true
            result = await call.result(within: limit)
        case .known: result = .taken(isNew: false)
        case .refuse: result = .failed("too many notifications are being handed over")
        case nil: result = .failed("the receiver shuts down")
        }
        switch result {
        case .taken(let isNew):
            self.onEvent?(isNew && !isCopy ? .taken(uuid: uuid, notification.type) : .duplicate(uuid: uuid))
            return 200
        case .failed(let reason): self.onEvent?(.postponed(uuid: uuid, reason: reason))
        case nil: self.onEvent?(.postponed(uuid: uuid, reason: "it was not handed over in time"))
        }
        return 503
    }

    private func begin(_ call: HandOverCall, _ notification: AppStoreNotification, _ post: [UInt8]) {
        // The task is not a child of the caller's task. Code that hangs must not delay the answer to Apple.
        Task {
            let result = await self.run(notification, post)
            // The table changes first. In the other order, a copy that arrives between the two steps would join the
            // ended call, and would get its result even after a failure.
            let isTaken = if case .taken = result { true } else { false }
            self.state.withLock { $0.table.ended(notification.uuid, isTaken: isTaken) }
            self.ends.raise()
            call.end(result)
        }
    }

    private func run(_ notification: AppStoreNotification, _ post: [UInt8]) async -> HandOverResult {
        switch self.handOver {
        case .handler(let handler):
            do {
                try await handler(notification)
                return .taken(isNew: true)
            } catch let failure as DeliveryFailure {
                return .failed(failure.description)
            } catch {
                return .failed("the handler threw \(type(of: error))")
            }
        case .store(let store):
            return await store.take(notification, post: post)
        }
    }
}
