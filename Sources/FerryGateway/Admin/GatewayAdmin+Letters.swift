internal import FerryAdmin
internal import FerryCore

/// The routes of the letters. They show device tokens or change something, so only the Unix socket offers these routes.
///
/// | route | answer |
/// |---|---|
/// | `GET /letters?after=&client=&reason=&before=` | ``LetterPage`` |
/// | `GET /letter?id=` | ``LetterRow`` with the payload |
/// | `POST /letters/retry`, `POST /letters/drop`, body: one `apns-id` a line | a ``LetterResult`` for each line |
extension GatewayAdmin {
    /// The largest number of letters in a page and in a command.
    package static let letterLimit = 500
    /// The largest number of pages of the store that one request looks at. The next request continues.
    private static let pageLimit = 8

    static let letterPaths: Set<String> = ["/letters", "/letter", "/letters/retry", "/letters/drop"]

    private static let noAnswer = AdminAnswer(
        status: 503,
        "The store or the event loop does not answer. A command may still be carried out."
    )

    /// Answers a request for letters within `limit`. While too many other requests for letters are under way, the
    /// answer is an error at once.
    ///
    /// The store may hang with its disk. Without a limit, requests for letters would then occupy all connections of the
    /// socket, and an operator could not read the status.
    func answerLetters(_ request: AdminRequest, within limit: Duration) async -> AdminAnswer {
        guard request.isLocal else { return .notFound }
        return await self.letterRequests.answer(within: limit) { await self.answerLetters(request) } ?? Self.noAnswer
    }

    private func answerLetters(_ request: AdminRequest) async -> AdminAnswer {
        guard self.gateway.hasStore else {
            return AdminAnswer(
                status: 409,
                "The gateway has no store, so it keeps no letters: give it the member 'store'."
            )
        }
        do {
            switch (request.method, request.path) {
            case ("GET", "/letters"): return try await self.page(request)
            case ("GET", "/letter"): return try await self.letter(request)
            case ("POST", "/letters/retry"):
                guard let ids = Self.ids(request.body) else { return Self.badIDs }
                return try await self.retry(ids)
            case ("POST", "/letters/drop"):
                guard let ids = Self.ids(request.body) else { return Self.badIDs }
                return AdminAnswer(encoding: try await self.gateway.drop(ids))
            default: return .notFound
            }
        } catch let error as StoreError {
            return AdminAnswer(status: 503, error.description)
        } catch {
            return AdminAnswer(status: 503, "The gateway ends.")
        }
    }

    private static let badIDs = AdminAnswer(
        status: 400,
        "The body is not 1 to \(GatewayAdmin.letterLimit) lines, each an apns-id."
    )

    private static func ids(_ body: [UInt8]) -> [APNSID]? {
        let lines = body.split(separator: UInt8(ascii: "\n"))
        let ids = lines.compactMap { APNSID.parse($0) }
        return ids.count == lines.count && 1...Self.letterLimit ~= ids.count ? ids : nil
    }

    private func page(_ request: AdminRequest) async throws(StoreError) -> AdminAnswer {
        let filter = LetterFilter(
            client: request.parameter("client"),
            reason: request.parameter("reason"),
            endedBefore: request.parameter("before").flatMap { UInt32($0) }
        )
        var last = request.parameter("after").flatMap { APNSID.parse($0.utf8) }
        var page = LetterPage(letters: [], next: nil)
        let begin = ContinuousClock.now
        for _ in 0..<Self.pageLimit {
            let room = Self.letterLimit - page.letters.count
            guard room > 0 else { break }
            let letters = try await self.gateway.letters(after: last, limit: room)
            guard let end = letters.last else { return AdminAnswer(encoding: page) }
            last = end.apnsID
            page.letters += letters.filter(filter.admits).map { LetterRow($0, withPayload: false) }
            guard begin.duration(to: .now) < self.pageTime else { break }
        }
        page.next = last?.description
        return AdminAnswer(encoding: page)
    }

    private func letter(_ request: AdminRequest) async throws(StoreError) -> AdminAnswer {
        guard let id = request.parameter("id").flatMap({ APNSID.parse($0.utf8) }) else {
            return AdminAnswer(status: 400, "Give the apns-id of the letter as 'id'.")
        }
        guard let letter = try await self.gateway.letters([id]).first else {
            return AdminAnswer(status: 404, "There is no such letter: it was sent again, dropped, or removed.")
        }
        return AdminAnswer(encoding: LetterRow(letter, withPayload: true))
    }

    private func retry(_ ids: [APNSID]) async throws -> AdminAnswer {
        let letters = try await self.gateway.letters(ids)
        let results = try await self.gateway.retry(letters)
        let found = Dictionary(zip(letters.map(\.apnsID), results), uniquingKeysWith: { first, _ in first })
        return AdminAnswer(encoding: ids.map { found[$0] ?? .missing })
    }
}
