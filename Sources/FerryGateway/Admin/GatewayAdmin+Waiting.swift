internal import FerryAdmin

/// The routes of the notifications without a final answer. The notifications have device tokens, so only the Unix
/// socket offers these routes.
///
/// | route | answer |
/// |---|---|
/// | `GET /waiting?after=&client=&reason=&before=` | ``WaitingPage`` |
/// | `GET /waiting/sums?after=&client=&reason=&before=` | ``WaitingSums`` |
extension GatewayAdmin {
    /// The largest number of notifications in a page.
    package static let waitingLimit = 500
    /// The largest number of turns of the event loop that one request takes. The next request continues.
    private static let turnLimit = 64

    static let waitingPaths: Set<String> = ["/waiting", "/waiting/sums"]

    /// Answers a request for waiting notifications within `limit`, because the event loop may hang. While too many
    /// other requests of this kind are under way, the answer is an error at once.
    func answerWaiting(_ request: AdminRequest, within limit: Duration) async -> AdminAnswer {
        guard request.isLocal, request.method == "GET" else { return .notFound }
        return await self.waitingRequests.answer(within: limit) { await self.answerWaiting(request) } ?? Self.silence
    }

    private func answerWaiting(_ request: AdminRequest) async -> AdminAnswer {
        var filter = WaitingFilter(
            client: request.parameter("client"),
            readBy: request.parameter("before").flatMap { UInt32($0) }
        )
        if let word = request.parameter("reason") {
            guard let reason = WaitingReason(rawValue: word) else {
                let words = WaitingReason.allCases.map(\.rawValue).joined(separator: ", ")
                return AdminAnswer(status: 400, "There is no such reason to wait. The reasons are \(words).")
            }
            filter.reason = reason
        }
        let place = request.parameter("after").flatMap { WaitingPlace($0) } ?? WaitingPlace()
        do {
            if request.path == "/waiting" {
                return AdminAnswer(encoding: try await self.waitingPage(after: place, filter))
            }
            return AdminAnswer(encoding: try await self.waitingSums(after: place, filter))
        } catch {
            return AdminAnswer(status: 503, "The gateway ends.")
        }
    }

    private func waitingPage(after place: WaitingPlace, _ filter: WaitingFilter) async throws -> WaitingPage {
        var page = WaitingPage(notifications: [], next: nil)
        var place = place
        let begin = ContinuousClock.now
        for _ in 0..<Self.turnLimit {
            let room = Self.waitingLimit - page.notifications.count
            guard room > 0 else { break }
            let (rows, next) = try await self.gateway.waiting(after: place, filter, limit: room)
            page.notifications += rows
            guard let next else { return page }
            place = next
            guard begin.duration(to: .now) < self.pageTime else { break }
        }
        page.next = place.description
        return page
    }

    private func waitingSums(after place: WaitingPlace, _ filter: WaitingFilter) async throws -> WaitingSums {
        var page = WaitingSums()
        var place = place
        let begin = ContinuousClock.now
        for _ in 0..<Self.turnLimit {
            let (sums, next) = try await self.gateway.waitingSums(after: place, filter)
            page.sums.add(sums)
            guard let next else { return page }
            place = next
            guard begin.duration(to: .now) < self.pageTime else { break }
        }
        page.next = place.description
        return page
    }
}
