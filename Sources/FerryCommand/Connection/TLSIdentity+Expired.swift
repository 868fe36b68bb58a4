internal import Ferry
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

extension TLSIdentity {
    /// Returns the identity even after its expiration, with a warning, because the server decides.
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
            // A certificate that is not valid yet means a wrong clock, and the provider reports it.
        }
        return self
    }
}
