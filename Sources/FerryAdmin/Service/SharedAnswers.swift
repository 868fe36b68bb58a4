internal import FerryCore

/// The answers of one snapshot. All readers of the snapshot share them.
///
/// The page and the metrics of many clients take milliseconds. Without this class, frequent readers would take the
/// processor from the service. All answers are of the same moment.
package final class SharedAnswers: Sendable {
    private let answers = Locked<[String: AdminAnswer]>([:])

    package init() {}

    /// Returns the answer for a path, or makes it. Two readers at the same moment may both make it.
    package func answer(_ path: String, _ make: () -> AdminAnswer) -> AdminAnswer {
        if let answer = self.answers.withLock({ $0[path] }) { return answer }
        let answer = make()
        self.answers.withLock { $0[path] = answer }
        return answer
    }
}
