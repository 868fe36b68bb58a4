internal import FerryAdmin

/// The route that copies the store. The copy has device tokens and payloads, so only the Unix socket offers the route.
///
/// | route | answer |
/// |---|---|
/// | `POST /backup`, body: an absolute path | ``StoreCopy``, when the copy is on the disk; 503 after an error |
///
/// After ``backupLimit``, the answer is 503, too, but the copy goes on.
extension GatewayAdmin {
    static let backupPath = "/backup"
    /// The longest time to an answer. The pages of a copy take 10 minutes at most, and the check of the whole copy
    /// should not take longer than the pages. Without this bound, the connection would stay open while the store or a
    /// disk hangs.
    package static let backupLimit: Duration = .seconds(1200)

    private static let goesOn = AdminAnswer(
        status: 503,
        "The store or the disk is slow, and the copy goes on. The file has its name when the copy is whole."
    )

    /// Answers a request for a copy within `limit`. A copy that takes longer goes on after the answer.
    ///
    /// - Parameter copied: called when the copy is on the disk, also after the answer.
    func answerBackup(
        _ request: AdminRequest,
        within limit: Duration,
        _ copied: @escaping @Sendable (StoreCopy) -> Void
    ) async -> AdminAnswer {
        guard request.isLocal, request.method == "POST" else { return .notFound }
        guard self.gateway.hasStore else {
            return AdminAnswer(
                status: 409,
                "The gateway has no store, so there is nothing to copy: give it the member 'store'."
            )
        }
        guard let path = String(validating: request.body, as: UTF8.self), path.hasPrefix("/"),
            !path.unicodeScalars.contains("\0")
        else { return AdminAnswer(status: 400, "The body is not an absolute path.") }
        let answer = SharedValue<AdminAnswer> { await self.copyStore(to: path, copied) }
        return await answer.value(within: limit) ?? Self.goesOn
    }

    private func copyStore(to path: String, _ copied: @Sendable (StoreCopy) -> Void) async -> AdminAnswer {
        do {
            let copy = try await self.gateway.copyStore(to: path)
            copied(copy)
            return AdminAnswer(encoding: copy)
        } catch {
            return AdminAnswer(status: 503, error.description)
        }
    }
}
