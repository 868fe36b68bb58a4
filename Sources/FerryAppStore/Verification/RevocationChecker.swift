internal import FerryCore
internal import FerryHTTP1
internal import FerryOpenSSL
internal import FerryPlatform
internal import NIOHTTP1

/// A checker that asks by OCSP (RFC 6960) whether an issuer revoked a certificate. Any thread may use it.
final class RevocationChecker: Sendable {
    private struct State {
        var cache = RevocationCache()
        /// The task of each question that is being asked. Notifications that come at the same time share the task.
        var running: [OCSPQuestion: Task<OCSPVerdict, Never>] = [:]
    }

    /// The longest wait for the answer to one question. Apple's responders answer in 200 to 600 ms. During this wait,
    /// Apple waits for the receiver's answer to the post.
    static let limit: Duration = .seconds(2)
    /// The largest answer in bytes. A usual answer has about 2,000 bytes.
    private static let answerLimit = 65_536

    private let client: HTTPClient
    private let state = Locked(State())

    init() throws(TLSError) { self.client = try HTTPClient() }

    /// Checks the leaf and the intermediate of each chain.
    ///
    /// - Throws: `forged` for a certificate that was revoked, has expired or names no responder; `tryAgain` if a
    ///   responder gives no usable answer.
    func check(_ chains: [SigningChain]) async throws(AppStoreVerificationError) {
        var seen: Set<ObjectIdentifier> = []
        var waiting: [(OCSPSubject, Task<OCSPVerdict, Never>)] = []
        for chain in chains where seen.insert(ObjectIdentifier(chain)).inserted {
            let now = Self.now
            // A responder may remove its records of expired certificates (RFC 5019, section 2.2.3).
            guard chain.validity.contains(now) else {
                throw AppStoreVerificationError(
                    .forged,
                    "A certificate has expired meanwhile, so whether it was revoked cannot be known."
                )
            }
            for subject in OCSPSubject.allCases {
                guard let question = chain.ocspQuestion(subject) else {
                    throw AppStoreVerificationError(
                        .forged,
                        "\(Self.begin(subject)) names no address at which its revocation could be asked for."
                    )
                }
                waiting.append((subject, self.start(question, chain, subject, now)))
            }
        }
        for (subject, task) in waiting {
            switch await task.value {
            case .good: continue
            case .revoked: throw AppStoreVerificationError(.forged, "\(Self.begin(subject)) was revoked.")
            case .unusable(let reason):
                throw AppStoreVerificationError(
                    .tryAgain,
                    "Whether \(subject) was revoked is not known now. The answer of its OCSP responder: \(reason)."
                )
            }
        }
    }

    private static var now: Int { Int(Date.now.timeIntervalSince1970) }

    private static func begin(_ subject: OCSPSubject) -> String {
        let words = subject.description
        return words.prefix(1).uppercased() + words.dropFirst()
    }

    private func start(
        _ question: OCSPQuestion,
        _ chain: SigningChain,
        _ subject: OCSPSubject,
        _ now: Int
    ) -> Task<OCSPVerdict, Never> {
        self.state.withLock { state in
            if let known = state.cache.verdict(question, at: now) { return Task { known } }
            if let running = state.running[question] { return running }
            let task = Task {
                let verdict = await self.ask(question, chain, subject)
                self.state.withLock { state in
                    state.running[question] = nil
                    state.cache.keep(verdict, for: question, at: Self.now)
                }
                return verdict
            }
            state.running[question] = task
            return task
        }
    }

    private func ask(_ question: OCSPQuestion, _ chain: SigningChain, _ subject: OCSPSubject) async -> OCSPVerdict {
        guard let url = try? HTTPURL(question.address) else { return .unusable("its address is not a URL") }
        var request = HTTPClientRequest(
            .POST,
            url,
            headers: ["Content-Type": "application/ocsp-request", "Accept": "application/ocsp-response"],
            body: question.request,
            isIdempotent: true
        )
        request.bodyLimit = Self.answerLimit
        do throws(HTTPClientError) {
            let response = try await self.client.send(request, within: Self.limit)
            guard response.status == 200 else { return .unusable("it has the status \(response.status)") }
            return chain.ocspVerdict(response.body, on: subject)
        } catch {
            // The full stop is dropped, because the text becomes part of a longer sentence.
            let words = error.description
            return .unusable(words.hasSuffix(".") ? String(words.dropLast()) : words)
        }
    }
}
