internal import FerryAdmin

/// The route of the copy of the store. It makes a file with device tokens and payloads, so it is on the socket alone.
///
/// | route | answer |
/// |---|---|
/// | `POST /backup`, body: an absolute path | ``StoreCopy``, when the copy is on the disk |
extension GatewayAdmin {
    static let backupPath = "/backup"

    func answerBackup(_ request: AdminRequest, _ copied: @Sendable (StoreCopy) -> Void) async -> AdminAnswer {
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
        do {
            let copy = try await self.gateway.copyStore(to: path)
            copied(copy)
            return AdminAnswer(encoding: copy)
        } catch {
            return AdminAnswer(status: 503, error.description)
        }
    }
}
