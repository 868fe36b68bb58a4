internal import FerryHTTP1
internal import NIOHTTP1

/// The checks of a receiver's answers to posts.
enum AnswerChecks {
    /// The number of bytes in a KB of the sentences.
    private static let kilobyte = 1024
    /// The time above which an answer counts as slow. Apple's limit is not documented. A good receiver needs far less.
    static let slow: Duration = .seconds(1)
    /// The time above which a slow answer is a fault.
    static let tooSlow: Duration = .seconds(3)

    static func findings(_ facts: ReceiverFacts) -> [Finding] {
        let small: Finding
        switch facts.small.result {
        case .failure(let error): return [self.unanswered(error, facts)]
        case .success(let response):
            small = StatusCheck.finding(response, to: facts.url, getStatus: facts.get.response?.status)
        }
        return [small] + self.size(facts, small) + self.connection(facts) + self.speed(facts)
    }

    /// Returns the size of a post as text, in whole kilobytes: "3 KB".
    static func size(_ exchange: ReceiverFacts.Exchange) -> String {
        "\((exchange.size + self.kilobyte / 2) / self.kilobyte) KB"
    }

    // MARK: No answer

    private static func unanswered(_ error: HTTPClientError, _ facts: ReceiverFacts) -> Finding {
        let size = self.size(facts.small)
        switch error.code {
        case .timedOut:
            return .fault(
                .answer,
                .noAnswer,
                "It takes a notification of \(size) and does not answer within \(facts.limit.inWords).",
                cure: "answer as soon as the notification is verified and stored, and do the work afterwards; if a GET "
                    + "is answered (\(self.get(facts))), look for what the receiver waits for"
            )
        case .malformedAnswer:
            return .fault(
                .answer,
                .notHTTP1,
                "What it answers is not HTTP/1.1, which Apple speaks.",
                cure: "enter the port of a web server that speaks HTTP/1.1, or switch it on beside HTTP/2"
            )
        default:
            return .fault(
                .answer,
                .noAnswer,
                "It does not answer a notification of \(size): \(error.description)",
                cure: "look into the log of the server and of what stands before it: a firewall may cut posts of "
                    + "unknown clients, and a proxy whose application crashed behaves so (a GET: \(self.get(facts)))"
            )
        }
    }

    private static func get(_ facts: ReceiverFacts) -> String {
        facts.get.response.map { "status \($0.status)" } ?? "no answer"
    }

    // MARK: Size

    private static func size(_ facts: ReceiverFacts, _ finding: Finding) -> [Finding] {
        guard let small = facts.small.response, small.status != 413, let exchange = facts.large else { return [] }
        let (few, many) = (self.size(facts.small), self.size(exchange))
        switch exchange.result {
        case .failure(let error):
            let ending =
                error.code == .timedOut
                ? "is not answered within \(facts.limit.inWords)" : "gets no answer, because the connection ends"
            return [
                self.tooLarge(
                    "A notification of \(few) is answered with \(small.status), and one of \(many) \(ending): a limit of "
                        + "size is the suspect."
                )
            ]
        case .success(let large) where large.status == 413:
            return [self.tooLarge("A notification of \(many) is too large for it (413); Apple's have up to 19 KB.")]
        case .success(let large) where large.status == 429 && small.status != 429:
            return [StatusCheck.finding(large, to: facts.url, getStatus: nil)]
        case .success(let large) where large.status != small.status:
            return [
                self.tooLarge(
                    "A notification of \(few) is answered with \(small.status), and one of \(many) with \(large.status): "
                        + "a limit of size is the suspect."
                )
            ]
        case .success(let large):
            // Only a status of the receiver itself shows that the body was read.
            guard finding.severity == .ok || finding.problem == .verifiesNothing else { return [] }
            guard self.haveOneOrigin(small, large) else {
                return [
                    self.tooLarge(
                        "Notifications of \(few) and of \(many) are both answered with \(small.status), but not by the same "
                            + "program, as their headers show: a limit of size is the suspect."
                    )
                ]
            }
            return [.ok(.body, "A notification of \(many), as large as Apple's, gets the same answer.")]
        }
    }

    /// Whether two answers of the same status seem to come from the same program. A firewall may also answer 403 in
    /// place of the receiver.
    private static func haveOneOrigin(_ small: HTTPClientResponse, _ large: HTTPClientResponse) -> Bool {
        ["Server", "Content-Type"].allSatisfy { small.headers[$0] == large.headers[$0] }
            && small.body.isEmpty == large.body.isEmpty
    }

    static let sizeCure =
        "allow bodies of 64 KB at least (1 MB with version 1 of the notifications), in everything on the way: nginx "
        + "client_max_body_size, and a client_body_temp_path that it may write (else 500 above 16 KB), Apache "
        + "LimitRequestBody, the body size that a firewall takes (often 8 KB), the limits of CDN and framework"

    private static func tooLarge(_ sentence: String) -> Finding {
        .fault(.body, .largeBodyRefused, sentence, cure: self.sizeCure)
    }

    // MARK: Connection and time

    private static func connection(_ facts: ReceiverFacts) -> [Finding] {
        guard let response = facts.small.response else { return [] }
        let version = "HTTP/\(response.version.major).\(response.version.minor)"
        guard response.version.major == 1, response.version.minor == 0 else {
            let keeps = response.keepsConnection
            return [
                .ok(
                    .http1,
                    keeps
                        ? "It answers \(version) and keeps the connection for the next notification."
                        : "It answers \(version) and closes the connection, so each notification takes a new one; that is "
                            + "allowed."
                )
            ]
        }
        return [
            .warning(
                .http1,
                .oldHTTP,
                "It answers \(version), and Apple speaks HTTP/1.1.",
                cure: "put a server or a proxy of HTTP/1.1 in its place; servers for development answer so"
            )
        ]
    }

    private static func speed(_ facts: ReceiverFacts) -> [Finding] {
        let times = [facts.small, facts.large].compactMap(\.self).filter { $0.response != nil }.map(\.time)
        guard let time = times.max() else { return [] }
        // The time is in whole milliseconds, because more digits would say nothing.
        let words = Duration.milliseconds(Int((time / .milliseconds(1)).rounded())).inWords
        guard time > self.slow else { return [.ok(.speed, "It answers within \(words), connection and all.")] }
        return [
            Finding(
                check: .speed,
                severity: time > self.tooSlow ? .fault : .warning,
                problem: .slowAnswer,
                sentence: "It takes \(words) to answer; Apple does not say how long it waits (TIMED_OUT).",
                cure: "answer before the work is done: verify, store, answer 200, then work; fetch no certificate or "
                    + "revocation list for each notification; keep an instance running if cold starts take the time"
            )
        ]
    }
}
