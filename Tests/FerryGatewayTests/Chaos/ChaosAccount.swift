import FerryGateway
import FerryTesting
import Synchronization

/// What happened to each push of a chaos run, as clients, APNs and the gateway's lists saw it.
///
/// The rules:
/// * A push is *owed* when its client wrote all of it and closed its connection cleanly, or got an outcome for it. It is
///   then at APNs, or in the list of rejections, or a dead letter. A push of a client that reset its connection may be
///   anywhere or nowhere.
/// * A push is *in doubt* when it went to APNs and no answer came: APNs was killed, reset its stream, or was silent. It
///   goes out once more, and the second time it is a dead letter. So each doubt allows one arrival beyond the first, and
///   a push whose last attempt was a doubt may be missing. An answer allows nothing.
/// * A push stands in the list once at most, and a good one never. Nothing arrives that no client wrote whole.
/// * A copy that the gateway doubts is a push of its own: one more arrival, or one more line in the list. These are few.
final class ChaosAccount: Sendable {
    private struct State {
        var courses: [ChaosCourse]
        var last: UInt32 = 0
        var tally = ChaosTally()
        /// Arrivals and list entries with a token that no push has.
        var strange = 0
        var connections = 0
        var broken = 0
        var attempts = Attempts()
        /// The courses of the pushes in words; nil: they are not noted.
        var words: [UInt32: [String]]?
    }

    /// How the attempts to deliver ended.
    struct Attempts: Hashable {
        var accepted = 0
        var inDoubt = 0
    }

    private let state: Mutex<State>
    private let start = ContinuousClock.now

    /// - Parameters:
    ///   - capacity: the pushes that there is room for at first, so that the account itself does not grow.
    ///   - keepsWords: whether to keep what happened to each push, to explain faults. Memory grows with it.
    init(capacity: Int, keepsWords: Bool) {
        var state = State(courses: Array(repeating: ChaosCourse(), count: capacity))
        if keepsWords { state.words = [:] }
        self.state = Mutex(state)
    }

    var tally: ChaosTally { self.state.withLock { $0.tally } }
    var strange: Int { self.state.withLock { $0.strange } }
    var attempts: Attempts { self.state.withLock { $0.attempts } }
    /// The connections to the gateway that were made, and those that broke.
    var connections: (made: Int, broken: Int) { self.state.withLock { ($0.connections, $0.broken) } }

    /// Some of the faulty pushes, in words.
    var faulty: [String] {
        self.state.withLock { state in
            let faulty = state.courses.enumerated().lazy.filter { _, course in
                let tally = ChaosTally(course)
                return tally.faults + tally.owing > 0
            }
            return faulty.prefix(20).map { number, course in
                let words = state.words?[UInt32(number)]?.joined(separator: "; ") ?? ""
                return "\(number): \(course) \(words)"
            }
        }
    }

    private func change(
        _ number: UInt32,
        _ words: @autoclosure () -> String,
        _ body: (inout ChaosCourse) -> Void
    ) {
        self.state.withLock { state in
            if state.words != nil {
                let elapsed = (ContinuousClock.now - self.start) / .milliseconds(1)
                state.words?[number, default: []].append("\(Int(elapsed)) ms \(words())")
            }
            let index = Int(number)
            guard index < state.courses.count else {
                state.strange += 1
                return
            }
            state.tally -= ChaosTally(state.courses[index])
            body(&state.courses[index])
            state.tally += ChaosTally(state.courses[index])
        }
    }

    private func change(
        token: some Collection<UInt8>,
        _ words: @autoclosure () -> String,
        _ body: (inout ChaosCourse) -> Void
    ) {
        guard let push = ChaosPush(token: token) else { return self.state.withLock { $0.strange += 1 } }
        self.change(push.number, words(), body)
    }

    // MARK: The clients' side

    /// Returns a new push.
    func makePush(_ kind: ChaosPush.Kind, weather: UInt8) -> ChaosPush {
        let number = self.state.withLock { state in
            state.last += 1
            if Int(state.last) >= state.courses.count { state.courses.append(ChaosCourse()) }
            return state.last
        }
        self.change(number, "made") { $0.isGood = kind == .good }
        return ChaosPush(number: number, kind: kind, weather: weather)
    }

    /// - Parameter client: a number of the connection or provider, for the words.
    func wrote(_ number: UInt32, _ manner: ChaosManner, _ client: String = "") {
        self.change(number, "written by \(manner) \(client)") { course in
            course.manner = manner.rawValue
            course.writings += 1
        }
    }

    func owes(_ number: UInt32) { self.change(number, "owed") { $0.isOwed = true } }
    func blamed(_ number: UInt32) { self.change(number, "named by an error response") { $0.isBlamed = true } }
    func readRow(_ token: some Collection<UInt8>) { self.change(token: token, "row read") { $0.rows += 1 } }

    /// Notes what happened to a client, in the words of a push.
    func say(_ number: UInt32, _ words: @autoclosure () -> String) { self.change(number, words()) { _ in } }

    func connected() { self.state.withLock { $0.connections += 1 } }
    func broke() { self.state.withLock { $0.broken += 1 } }

    // MARK: The gateway's side

    func noted(_ event: GatewayEvent) {
        switch event {
        // A probe has no token, and a faulty one may have any.
        case .refused(let refusal):
            if let token = refusal.token { self.change(token: token, "listed") { $0.listings += 1 } }
        case .gone(_, _, let token, _):
            self.change(token: token, "gone") { course in
                course.listings += 1
                course.isGone = true
            }
        case .deadLetter(let refusal):
            if let token = refusal.token { self.change(token: token, "dead letter") { $0.isDead = true } }
        case .uncertain(let item, _): self.change(token: item.token, "listed as uncertain") { _ in }
        default:
            break
        }
    }

    func sent(_ number: UInt32, as tag: UInt64) {
        self.change(number, "sent as \(tag)") { $0.sent(as: tag) }
    }

    /// Notes the end of an attempt.
    func ended(_ number: UInt32, isAccepted: Bool, inDoubt: Bool) {
        self.state.withLock { state in
            if isAccepted { state.attempts.accepted += 1 }
            if inDoubt { state.attempts.inDoubt += 1 }
        }
        self.change(number, inDoubt ? "in doubt" : "answered") { course in
            course.endsInDoubt = inDoubt
            if inDoubt { course.doubts += 1 }
        }
    }
}

extension ChaosAccount: APNsRecorder {
    func accepted(_ request: AcceptedRequest, token: Span<UInt8>, payload: Span<UInt8>) {
        self.change(token: token.withUnsafeBufferPointer(Array.init), "arrived") { $0.arrivals += 1 }
    }
}
