internal import FerryBinary
internal import FerryGateway
internal import FerryTerminal

/// The parts of sentences.
extension GatewayMessages {
    /// The library's sentence, with advice about 'legacyTLS' in place of the library's legacy profile. A gateway
    /// serves TLS 1.2 at most, with RSA or ECDHE.
    func advice(_ reason: String) -> String {
        guard self.isLegacy else { return reason.replacing("the legacy profile", with: "'legacyTLS' in 'listen'") }
        let words = [
            (
                "allow one that the peer speaks, or with TLS 1.0 and 1.1 use the legacy profile",
                "it must allow TLS 1.2, 1.1 or 1.0: 'legacyTLS' is on already"
            ),
            (
                "the peer must allow a usual one of TLS 1.2, or this side must use the legacy profile",
                "the peer must allow one with RSA or ECDHE: 'legacyTLS' is on already"
            ),
            (", or this side must use the legacy profile", ""),
            (", or the legacy profile", ""),
        ]
        return words.reduce(reason) { $0.replacing($1.0, with: $1.1) }
    }

    static func words(_ violation: NotificationViolation) -> String {
        switch violation {
        case .unknownCommand(let command):
            "a frame that begins with \(command) in place of a command (0, 1 or 2). Either a length in the frame before it "
                + "is wrong, or the client speaks another protocol"
        case .frameTooLong(let length): "a frame of \(length) bytes, too long for one notification"
        }
    }

    /// Says which clients get no new connection while their notifications for this topic wait.
    func closing(_ topic: Topic) -> String {
        let closed = zip(self.clients, self.firstTopics).filter { $0.1 == topic }.map(\.0)
        guard !closed.isEmpty else { return "" }
        return " New connections of \(closed.listed) are refused while \(closed.count == 1 ? "its" : "their") own wait."
    }
}
