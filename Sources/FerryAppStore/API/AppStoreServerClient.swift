internal import FerryCore
internal import FerryHTTP1
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryProxy
internal import NIOHTTP1

/// A client of Apple's App Store Server API, for one app in one environment.
///
/// Safe from any thread. Share one client, because each client counts only its own requests. A request that would
/// exceed Apple's limits waits, or fails if the wait is longer than ``Configuration/callLimit``. The client makes its
/// own tokens. The client repeats a call after too many requests, after an error of Apple's server and after a
/// failure of the connection, if a repetition does no harm.
public final class AppStoreServerClient: Sendable {
    /// The environment of all calls.
    public let environment: AppStoreEnvironment
    /// The bundle identifier of the app that all calls concern.
    public let bundleID: String
    let verifier: AppStoreVerifier
    private let configuration: Configuration
    private let url: HTTPURL
    private let client: HTTPClient
    private let time: ServerTime
    private let token: Locked<ServerToken>
    private let rates: Locked<[RateKind: RequestRate]>

    /// - Throws: ``AppStoreServerError`` with `invalidConfiguration` if an identifier is empty, or if the
    ///   environment, the address, the proxy or the trust roots cannot be used.
    public convenience init(_ configuration: Configuration) throws(AppStoreServerError) {
        try self.init(configuration, time: .system)
    }

    package init(_ configuration: Configuration, time: ServerTime) throws(AppStoreServerError) {
        self.url = try configuration.url()
        self.environment = configuration.environment
        self.bundleID = configuration.bundleID
        self.verifier = configuration.verifier
        self.configuration = configuration
        self.time = time
        self.token = Locked(
            ServerToken(
                key: configuration.key,
                keyID: configuration.keyID,
                issuerID: configuration.issuerID,
                bundleID: configuration.bundleID
            )
        )
        self.rates = Locked(
            Dictionary(
                uniqueKeysWithValues: RateKind.allCases.map {
                    ($0, RequestRate(perSecond: $0.perSecond(configuration.environment)))
                }
            )
        )
        var client = HTTPClient.Configuration()
        client.trustRoots = configuration.trustRoots
        client.proxy = configuration.proxy
        do {
            self.client = try HTTPClient(client)
            if self.url.scheme == .https { try self.client.checkTLS() }
        } catch {
            throw AppStoreServerError(.invalidConfiguration, error.description, cause: error)
        }
    }

    /// The host and port of the server, for messages.
    var host: String { self.url.origin.inWords }

    /// The present time by the client's clock.
    var now: Date { self.time.now() }

    /// One call of the API.
    struct Call {
        var kind: RateKind
        /// The path below the base address, with the query.
        var path: String
        /// The body of a POST; nil for a GET.
        var body: [UInt8]?
        /// Whether the call does no harm if Apple gets it twice.
        var isIdempotent = true
    }

    /// Makes a call with all waits and repetitions, and returns the JSON object of the answer.
    func object(_ call: Call) async throws(AppStoreServerError) -> JSONObject {
        let start = self.time.elapsed()
        var retry = RequestRetry(attempts: self.configuration.attempts, isIdempotent: call.isIdempotent)
        while true {
            try await self.takePlace(call.kind, since: start)
            let failure: (error: AppStoreServerError, kind: RequestRetry.Failure)
            switch try await self.attempt(call) {
            case .object(let object): return object
            case .failure(let error, let kind): failure = (error, kind)
            }
            if case .rateLimited(let told?) = failure.kind {
                // Until the time that Apple named, Apple would also refuse other calls of this kind. So these calls
                // wait as well.
                let until = self.time.elapsed() + max(told, .zero)
                self.rates.withLock { $0[call.kind]?.hold(until: until) }
            }
            switch retry.next(failure.kind, chance: .random(in: 0...1)) {
            case .giveUp: throw failure.error
            case .repeatAfter(let wait):
                guard self.time.elapsed() - start + wait <= self.configuration.callLimit else { throw failure.error }
                try await self.pause(wait)
            }
        }
    }

    /// Waits until Apple's limits allow the request. Throws `rateLimitExceeded` at once if that wait would end later
    /// than `callLimit` after `start`; throws `cancelled` if the task is cancelled.
    private func takePlace(_ kind: RateKind, since start: Duration) async throws(AppStoreServerError) {
        let now = self.time.elapsed()
        let limit = self.configuration.callLimit - (now - start)
        switch self.rates.withLock({ $0[kind]?.reserve(at: now, within: limit) }) {
        case .taken(let wait): if wait > .zero { try await self.pause(wait) }
        case .tooLate(let wait):
            throw AppStoreServerError(
                .rateLimitExceeded,
                "The request to \(self.host) was not sent: Apple's limit of requests would be exceeded. Ask less often.",
                retryAfter: self.now + wait.timeInterval
            )
        case nil: break
        }
    }

    func pause(_ duration: Duration) async throws(AppStoreServerError) {
        do {
            try await self.time.wait(duration)
        } catch {
            throw AppStoreServerError(.cancelled, "The request to \(self.host) was cancelled.", cause: error)
        }
    }

    private func attempt(_ call: Call) async throws(AppStoreServerError) -> ServerAnswer {
        let request = try self.request(call)
        do throws(HTTPClientError) {
            let response = try await self.client.send(request, within: self.configuration.attemptLimit)
            return ServerAnswer(response, from: self.host, now: self.now)
        } catch {
            let code: AppStoreServerError.Code =
                switch error.code {
                case .cancelled: .cancelled
                case .timedOut: .timedOut
                case .connectFailed, .connectionLost, .answerCut, .peerNotTrusted: .connectionFailed
                default: .unexpectedAnswer
                }
            let failure = AppStoreServerError(code, error.description, cause: error)
            let isLasting = if case .proxy(let refusal) = error.fault { refusal.isLasting } else { false }
            let isTrouble =
                !isLasting && [.timedOut, .connectFailed, .connectionLost, .answerCut].contains(error.code)
            return .failure(failure, isTrouble ? .connection(wasSent: error.wasSent) : .lasting)
        }
    }

    private func request(_ call: Call) throws(AppStoreServerError) -> HTTPClientRequest {
        let prefix = self.url.target.hasSuffix("/") ? String(self.url.target.dropLast()) : self.url.target
        do {
            let token = try self.token.withLock { token throws(TLSError) in
                try token.text(at: Int64(self.now.timeIntervalSince1970))
            }
            var headers: HTTPHeaders = ["Authorization": "Bearer \(token)", "Accept": "application/json"]
            if call.body?.isEmpty == false { headers.add(name: "Content-Type", value: "application/json") }
            var request = HTTPClientRequest(
                call.body == nil ? .GET : .POST,
                try self.url.with(target: prefix + call.path),
                headers: headers,
                body: call.body ?? [],
                isIdempotent: call.isIdempotent
            )
            // The largest answer has 20 notifications of up to 19 KB. The limit of 8 MiB is far above that.
            request.bodyLimit = 8 << 20
            return request
        } catch {
            throw AppStoreServerError(.invalidConfiguration, "\(error)", cause: error)
        }
    }
}
