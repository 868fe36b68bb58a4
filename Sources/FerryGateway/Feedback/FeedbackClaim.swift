internal import NIOCore

/// The feedback rows of a client, for one reader. Call the methods on the reader's event loop. Only the first call of
/// ``read()`` or ``giveBack()`` has an effect.
package protocol FeedbackClaim: Sendable {
    var rows: [FeedbackRows.Row] { get }

    /// Removes the rows, because the reader has received all of them.
    func read()

    /// Lists the rows again, because the reader has gone.
    func giveBack()
}

/// The rows that a reader has claimed from the gateway's own lists.
struct ClaimedFeedback: FeedbackClaim {
    private let claim: FeedbackRows.Claim
    private let driver: GatewayDriver

    init(_ claim: FeedbackRows.Claim, of driver: GatewayDriver) {
        self.claim = claim
        self.driver = driver
    }

    var rows: [FeedbackRows.Row] { self.claim.rows }

    func read() { self.driver.withFeedback { $0.read(self.claim) } }

    func giveBack() { self.driver.withFeedback { $0.giveBack(self.claim) } }
}

extension SharedStore {
    /// Takes the feedback rows of a client for one reader, and passes them to `body`, or an error of the store. If the
    /// rows do not come within `limit`, `body` gets an error, and rows that come later are given back. Call this method
    /// on `eventLoop`, which also calls `body` once.
    func takeFeedback(
        of client: String,
        within limit: TimeAmount,
        on eventLoop: any EventLoop,
        then body: @escaping (Result<any FeedbackClaim, StoreError>) -> Void
    ) {
        let waiting = NIOLoopBoundBox<((Result<any FeedbackClaim, StoreError>) -> Void)?>(body, eventLoop: eventLoop)
        let deadline = eventLoop.scheduleTask(in: limit) {
            waiting.value.take()?(.failure(StoreError("The store does not answer.")))
        }
        Task {
            let answer: Result<any FeedbackClaim, StoreError>
            do throws(StoreError) {
                answer = .success(try await self.feedback(of: client))
            } catch {
                answer = .failure(error)
            }
            eventLoop.execute {
                deadline.cancel()
                guard let body = waiting.value.take() else {
                    if case .success(let rows) = answer { rows.giveBack() }
                    return
                }
                body(answer)
            }
        }
    }
}
