package import FerryCore

/// The posts of a receiver since its start, by their results.
///
/// `posts` = `taken` + `copies` + `postponed` + the sum of `refused`, at each moment.
package struct PostFigures: Hashable, Sendable {
    /// The cause for which a post was refused. The names are those of the metrics.
    package enum Cause: String, CaseIterable, Sendable {
        case malformed, forged
        case otherApp = "other_app"
        case otherEnvironment = "other_environment"
        /// The verifier could not determine whether the post is genuine.
        case tryAgain = "try_again"
        case notUnderstood = "not_understood"
        case path, method

        init(_ code: AppStoreVerificationError.Code) {
            self =
                switch code {
                case .malformed: .malformed
                case .forged: .forged
                case .otherApp: .otherApp
                case .otherEnvironment: .otherEnvironment
                case .tryAgain: .tryAgain
                case .notUnderstood: .notUnderstood
                }
        }
    }

    /// Notifications that the handler or the store has taken.
    package var taken = 0
    /// Posts whose notification was taken before, or was taken together with an earlier copy.
    package var copies = 0
    /// Verified posts whose notification was not taken, so that Apple sends it again.
    package var postponed = 0
    package var refused: [Cause: Int] = [:]
    /// The answers to requests with the method POST, by HTTP status.
    package var answers: [Int: Int] = [:]
    /// The times from the last byte of a post to its answer.
    package var times = TimeHistogram()

    package init() {}

    package var allRefused: Int { self.refused.values.reduce(0, +) }
    package var verified: Int { self.taken + self.copies + self.postponed }
    package var posts: Int { self.verified + self.allRefused }
}
