internal import FerryCore
internal import FerryHTTP1
public import FerryOpenSSL
public import FerryPlatform
public import NIOCore
internal import NIOHTTP1

/// A sender that posts notifications to a server over real sockets, as the App Store does: HTTP/1.1, with retries and
/// faults.
///
/// ```swift
/// var maker = try NotificationMaker(app: AppStoreApp(bundleID: "com.example.app"))
/// let sender = try AppStoreSender(.init(url: "http://127.0.0.1:8080/app-store", signer: maker.signer))
/// sender.add(try maker.make(.init(.didRenew)))
/// await sender.run()                      // with all retries: 157 hours of the sender's clock, if the server is down
/// sender.records[0].attempts.map(\.answer.result)
/// ```
///
/// Safe from any thread.
public final class AppStoreSender: Sendable {
    /// Where notifications go, and how.
    public struct Configuration: Sendable {
        /// The address to post to, with `http` or `https`.
        public var url: String
        /// The authorities that may sign the server's certificate.
        public var trustRoots = TrustRoots.system
        /// Signs copies of notifications.
        public var signer: AppStoreSigner
        /// Retries and faults.
        public var options = NotificationSender.Options()
        /// The clock of attempts.
        public var clock = AppStoreClock.jumping(from: Date())
        /// The limit of one attempt, in real time: connecting, and then handshake, post and answer. Apple's limit is not
        /// documented.
        public var timeout: Duration = .seconds(10)
        /// How many posts may be under way at a time, each on a connection of its own.
        public var concurrency = 16
        /// Called after each attempt, from any thread.
        public var onAttempt: (@Sendable (SimulatedNotification, NotificationSender.Attempt) -> Void)?

        /// Makes a configuration for one URL of a receiver.
        public init(url: String, signer: AppStoreSigner) {
            self.url = url
            self.signer = signer
        }
    }

    /// The error of an address that is not one of HTTP or HTTPS.
    public struct AddressError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The fault of the address, without any part of it.
        public let description: String
    }

    private enum Event: Sendable {
        /// A notification was added, or an attempt is due.
        case wake
        case finished
    }

    private struct State {
        var machine: NotificationSender
        var clock: StartedClock
        /// Wakes the run; nil: the sender does not run.
        var events: AsyncStream<Event>.Continuation?
    }

    private let configuration: Configuration
    private let url: HTTPURL
    private let client: HTTPClient
    private let state: Locked<State>

    /// - Parameters:
    ///   - configuration: the address, and what happens there.
    ///   - group: the event loops to run on. The group must outlive the sender. Nil: the singleton group of SwiftNIO.
    /// - Throws: ``AddressError``, or `TLSError` when the trust roots cannot be read.
    public init(_ configuration: Configuration, on group: (any EventLoopGroup)? = nil) throws {
        do throws(HTTPURL.Fault) {
            self.url = try HTTPURL(configuration.url)
        } catch {
            let words = "The address of the server is not one of http or https that can be used."
            throw AddressError(description: "\(words) \(error.description)")
        }
        self.configuration = configuration
        var client = HTTPClient.Configuration()
        client.trustRoots = configuration.trustRoots
        client.idleConnections = configuration.concurrency
        // The end of a run closes them.
        client.idleTime = .seconds(3600)
        client.group = group
        self.client = try HTTPClient(client)
        if self.url.scheme == .https { try self.client.checkTLS() }
        let machine = NotificationSender(configuration.options, signer: configuration.signer)
        self.state = Locked(State(machine: machine, clock: StartedClock(configuration.clock)))
    }

    /// The time of the sender's clock.
    public var now: Date { self.state.withLock { $0.clock.now } }

    /// All notifications so far, with their attempts.
    public var records: [NotificationSender.Record] { self.state.withLock { $0.machine.records } }

    /// The record of a notification; nil if it was not added.
    public func record(uuid: String) -> NotificationSender.Record? {
        self.state.withLock { $0.machine.record(uuid: uuid) }
    }

    /// Adds a notification. Its first attempt is due at once; a run makes it.
    public func add(_ notification: SimulatedNotification) {
        self.state.withLock { state in
            state.machine.add(notification, at: state.clock.now)
            state.events?.yield(.wake)
        }
    }

    /// Makes all attempts that are due until `end` on the sender's clock, and leaves the clock there. Only one run at a
    /// time.
    ///
    /// - Parameter end: nil: all attempts, until every notification is delivered or abandoned.
    public func run(until end: Date? = nil) async { await self.run(until: end, endsWhenDone: true) }

    /// Makes all attempts that are due, also of notifications that are added later, until the task is cancelled. Only one run
    /// at a time.
    public func serve() async { await self.run(until: nil, endsWhenDone: false) }

    // MARK: The run

    private enum Step {
        case post(NotificationSender.Post)
        /// Nothing is due yet.
        case wait(Duration)
        /// Nothing is due before the end.
        case done
        case again
    }

    private func run(until end: Date?, endsWhenDone: Bool) async {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        self.state.withLock { $0.events = continuation }
        defer { self.state.withLock { $0.events = nil } }
        continuation.yield(.wake)
        await withTaskGroup(of: Void.self) { group in
            var active = 0
            var alarm: Task<Void, Never>?
            defer { alarm?.cancel() }
            loop: for await event in events {
                if case .finished = event { active -= 1 }
                alarm?.cancel()
                steps: while active < self.configuration.concurrency {
                    switch self.step(until: end, isIdle: active == 0) {
                    case .again: continue steps
                    case .post(let post):
                        active += 1
                        group.addTask {
                            // A run that is cancelled still learns the answers.
                            await Task { await self.send(post) }.value
                            continuation.yield(.finished)
                        }
                    case .wait(let time):
                        alarm = Task {
                            if (try? await Task.sleep(for: time)) != nil { continuation.yield(.wake) }
                        }
                        break steps
                    case .done:
                        if endsWhenDone, active == 0 { break loop }
                        break steps
                    }
                }
            }
        }
        self.client.closeIdle()
    }

    private func step(until end: Date?, isIdle: Bool) -> Step {
        self.state.withLock { state in
            do throws(TLSError) {
                if let post = try state.machine.next(at: state.clock.now) { return .post(post) }
            } catch {
                // OpenSSL has no memory: the copy that it could not sign is lost.
                return .again
            }
            guard let due = state.machine.nextDue, end.map({ due <= $0 }) ?? true else {
                if let end, isIdle {
                    if let wait = state.clock.wait(for: end), wait > .zero { return .wait(wait) }
                    state.clock.jump(to: end)
                }
                return .done
            }
            if let wait = state.clock.wait(for: due) { return .wait(wait) }
            // Time stands still while posts are under way.
            guard isIdle else { return .done }
            state.clock.jump(to: due)
            return .again
        }
    }

    private func send(_ post: NotificationSender.Post) async {
        let answer = await self.answer(to: post)
        let attempt = self.state.withLock { state in
            state.machine.answered(post.id, answer, at: state.clock.now)
        }
        if let attempt { self.configuration.onAttempt?(post.notification, attempt) }
    }

    /// As seen in posts of the App Store.
    private static let headers: HTTPHeaders = [
        "Content-Type": "application/json; charset=UTF-8", "Connection": "Keep-Alive",
        "User-Agent": "Apache-HttpClient/4.5 (Java/17)", "Accept-Encoding": "gzip,deflate",
    ]

    private func answer(to post: NotificationSender.Post) async -> NotificationAnswer {
        var request = HTTPClientRequest(.POST, self.url, headers: Self.headers, body: post.notification.post)
        // The App Store takes nothing from the body of an answer.
        request.bodyLimit = nil
        request.delivery =
            switch post.delivery {
            case .whole: .whole
            case .slowBody: .slow
            case .cut: .cut
            case .impatient: .impatient
            }
        do throws(HTTPClientError) {
            let timeout = self.configuration.timeout
            let response = try await self.client.send(request, within: timeout, connecting: timeout)
            let location = 300...399 ~= response.status ? response.headers.first(name: "Location") : nil
            return location.map(self.isOwnAddress) == true ? .failure(.circularRedirect) : .status(response.status)
        } catch {
            return .failure(SendAttemptResult(error.fault, isSecure: self.url.scheme == .https))
        }
    }

    /// Whether a redirect leads to the address again. A relative one does so only with the very path.
    private func isOwnAddress(_ location: String) -> Bool {
        location == self.url.target || location.contains("://") && self.url.resolved(location) == self.url
    }
}
