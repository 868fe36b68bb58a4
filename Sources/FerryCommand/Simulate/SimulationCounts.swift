internal import FerryAppStoreTesting
internal import FerryTerminal
internal import FerryTesting

/// The counts of a simulation: taken, refused and sent. A service that is not simulated has no counts.
struct SimulationCounts: Equatable, Sendable {
    var binary: GatewayCounts?
    var feedback: FeedbackCounts?
    var http2: APNsCounts?
    /// Nil if the App Store sends nothing.
    var posts: PostCounts?
    /// The requests to the API of the App Store.
    var requests: Int?

    /// One line for each service, and a second line for the requests to the App Store's API.
    var lines: [String] {
        var lines: [String] = []
        if let binary {
            let connections = Self.words(binary.handshakes, binary.handshakeFailures)
            lines.append("binary: \(binary.accepted) accepted, \(binary.refused) refused; \(connections)")
        }
        if let feedback {
            let connections = Self.words(feedback.handshakes, feedback.handshakeFailures)
            lines.append("feedback: \(feedback.tuples) tuples sent; \(connections)")
        }
        if let http2 {
            let connections = Self.words(http2.handshakes, http2.handshakeFailures)
            let unanswered = http2.unanswered > 0 ? ", \(http2.unanswered) left without an answer" : ""
            lines.append("http2: \(http2.accepted) accepted, \(http2.rejected) rejected\(unanswered); \(connections)")
        }
        if let posts {
            let causes = posts.causes.isEmpty ? "" : ": \(posts.causes.listed)"
            lines.append("app-store: \(posts.sent) posts sent, \(posts.taken) taken, \(posts.failed) failed\(causes)")
        }
        if let requests { lines.append("app-store: \(requests) requests to the API") }
        return lines
    }

    /// The line of a terminal.
    var progress: WorkProgress {
        var (count, words) = (0, [String]())
        if self.binary != nil || self.http2 != nil {
            let accepted = (self.binary?.accepted ?? 0) + (self.http2?.accepted ?? 0)
            let refused = (self.binary?.refused ?? 0) + (self.http2?.rejected ?? 0)
            count += accepted + refused
            words += ["accepted \(accepted)", "refused \(refused)"]
        }
        if let feedback {
            count += feedback.tuples
            words.append("tuples \(feedback.tuples)")
        }
        if let posts {
            count += posts.sent
            words += ["posts \(posts.sent)", "failed \(posts.failed)"]
        }
        if let requests { words.append("requests \(requests)") }
        return WorkProgress(count: count, words: words)
    }

    private static func words(_ connections: Int, _ failures: Int) -> String {
        "\(connections) connection\(connections == 1 ? "" : "s")"
            + (failures > 0 ? ", \(failures) failed handshake\(failures == 1 ? "" : "s")" : "")
    }
}

/// The posts of a simulated App Store, and why some failed.
struct PostCounts: Equatable, Sendable {
    private(set) var sent = 0
    private(set) var taken = 0
    /// The number of failed posts for each cause. A cause is a status or a result of Apple's, and there are few of
    /// both.
    private var failures: [String: Int] = [:]

    var failed: Int { self.sent - self.taken }

    mutating func add(_ answer: NotificationAnswer) {
        self.sent += 1
        guard answer.meaning != .success else {
            self.taken += 1
            return
        }
        self.failures[answer.status.map { "status \($0)" } ?? answer.result.rawValue, default: 0] += 1
    }

    /// The causes, the most frequent first.
    var causes: [String] {
        self.failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) × \($0.key)" }
    }
}
