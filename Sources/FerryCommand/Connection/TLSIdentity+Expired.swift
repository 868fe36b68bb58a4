internal import Ferry
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

extension TLSIdentity {
    /// Returns the identity for sending and reading even after its end, with a warning: the server decides.
    func usedWhenExpired(at now: Date = .now, warn: (String) -> Void = { Console.error($0) }) -> TLSIdentity {
        do {
            try self.validate(at: now)
        } catch  where error.code == .certificateExpired {
            warn(
                "ferry: warning: \(error.description) It is used all the same, and the server will probably refuse it."
            )
            var identity = self
            identity.isUsedWhenExpired = true
            return identity
        } catch {
            // A certificate of the future means a wrong clock, and the provider says so.
        }
        return self
    }
}
