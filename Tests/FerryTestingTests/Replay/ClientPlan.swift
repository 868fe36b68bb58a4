internal import FerryBinary
internal import FerryCore
internal import FerryTesting

/// The headers of a transcript of the client machine: the steps of the client, and the expected outcomes.
///
/// ```
/// options: settleTime=1 cachePolicy=evict
/// submit: 1-3@0 4-5@2.5          (notifications, and the second in which they are submitted)
/// shutdown: 3 probe              (the second, and how)
/// outcomes: confirmed rejected/8 presumed
/// contradicted: 1
/// ```
struct ClientPlan {
    struct Step {
        enum Kind {
            case submit(ClosedRange<Int>)
            case shutDown(Proof)
        }

        var time: Duration
        var kind: Kind
    }

    var options = BinaryOptions()
    var steps: [Step] = []
    var outcomes: [String] = []
    var contradicted = 0
    private var expiration: Expiration?

    /// The error of an invalid header.
    struct HeaderError: Error { var header: String }

    init(_ transcript: Transcript) throws {
        self.expiration = transcript[header: "expiration"].flatMap(UInt32.init).map { Expiration(epochSeconds: $0) }
        for setting in Self.words(transcript[header: "options"]) { try self.set(setting) }
        for word in Self.words(transcript[header: "submit"]) {
            let parts = word.split(separator: "@")
            let bounds = parts[0].split(separator: "-").compactMap { Int($0) }
            guard let first = bounds.first, let last = bounds.last else { throw HeaderError(header: "submit") }
            let time = parts.count > 1 ? Double(parts[1]) ?? 0 : 0
            self.steps.append(
                Step(time: .seconds(time), kind: .submit(first...last))
            )
        }
        let shutdown = Self.words(transcript[header: "shutdown"])
        if let time = shutdown.first.flatMap({ Double($0) }) {
            let proofs: [Substring: Proof] = ["automatic": .automatic, "probe": .probe]
            let proof = shutdown.last.flatMap { proofs[$0] } ?? .silence
            self.steps.append(Step(time: .seconds(time), kind: .shutDown(proof)))
        }
        self.steps.sort { $0.time < $1.time }
        self.outcomes = Self.words(transcript[header: "outcomes"]).map(String.init)
        self.contradicted = transcript[header: "contradicted"].flatMap { Int($0) } ?? 0
    }

    /// The names of all notifications, in order.
    var names: [Int] {
        self.steps.flatMap { step -> [Int] in
            if case .submit(let names) = step.kind { Array(names) } else { [] }
        }
    }

    private static func words(_ value: String?) -> [Substring] { (value ?? "").split(separator: " ") }

    private mutating func set(_ setting: Substring) throws {
        let parts = setting.split(separator: "=")
        guard parts.count == 2 else { throw HeaderError(header: "options") }
        let number = Double(parts[1]) ?? 0
        switch parts[0] {
        case "settleTime": self.options.settleTime = .seconds(number)
        case "command": self.options.command = number == 0 ? .simple : number == 1 ? .enhanced : .frame
        case "cachePolicy": self.options.cachePolicy = parts[1] == "evict" ? .evict : .hold
        case "cacheLength": self.options.cacheLength = Int(number)
        case "autoAdjustCache": self.options.autoAdjustCache = parts[1] == "true"
        case "onUnknown": self.options.onUnknown = parts[1] == "report" ? .report : .resend
        case "buffersNotifications": self.options.buffersNotifications = parts[1] == "true"
        case "retryLimit": self.options.retryLimit = Int(number)
        case "probeWhenHeld": self.options.probeWhenHeld = parts[1] == "true"
        case "finality": self.options.finality = parts[1] == "proof" ? .proof : .silence
        case "connectionTimeout": self.options.idleTimeout = .seconds(number)
        case "firstSequence": self.options.firstSequence = UInt64(number)
        default: throw HeaderError(header: "options")
        }
    }

    /// Returns notifications with these names. A name is the notification's tag, and its device token begins with it.
    func run(of names: ClosedRange<Int>) throws -> BatchRun {
        var batch = PushBatch()
        for name in names {
            let token =
                [UInt8(truncatingIfNeeded: name >> 8), UInt8(truncatingIfNeeded: name)]
                + [UInt8](repeating: 7, count: 6)
            let notification = try PushNotification(
                json: Array(#"{"aps":{"badge":\#(name)}}"#.utf8),
                expiration: self.expiration
            )
            try batch.append(notification, to: DeviceToken(token), tag: PushTag(UInt64(name)))
        }
        return batch.takeFirst(.max)
    }
}

extension Outcome {
    /// The outcome in the words of a transcript's header.
    var word: String {
        switch self {
        case .accepted(.confirmed): "confirmed"
        case .accepted(.presumed): "presumed"
        case .rejected(let rejection):
            "\(rejection.origin == .inferred ? "inferred" : "rejected")/\(rejection.status.map(String.init) ?? "-")"
        case .expired: "expired"
        case .undelivered(let cause): "undelivered/\(cause)"
        case .uncertain(let cause): "uncertain/\(cause)"
        }
    }
}
