package import FerryCore
package import FerryMachine
internal import NIOCore

/// The check of one connection's provider tokens.
package struct APNsAuthorization: Sendable {
    private var verifier: ProviderTokenVerifier
    private var history: ProviderTokenHistory

    /// - Parameters:
    ///   - keys: the known keys.
    ///   - updateInterval: the shortest time between changes of the connection's token.
    package init(keys: [ProviderTokenVerifier.Key], updateInterval: Duration) {
        self.verifier = ProviderTokenVerifier(keys)
        self.history = ProviderTokenHistory(updateInterval: TimeAmount(updateInterval))
    }

    /// Returns the reason to refuse a request with this value of `authorization`; nil if it is valid.
    package mutating func fault(of value: UnsafeBufferPointer<UInt8>?, now: Moment) -> Reason? {
        switch self.verifier.verify(value, epochSeconds: now.epochSeconds) {
        case .ok(let token): self.history.use(token, now: now.monotonic)
        case .refused(let reason): reason
        }
    }
}

extension TestCredentials {
    /// The key whose provider tokens a simulated APNs accepts.
    package var providerTokenKey: ProviderTokenVerifier.Key {
        ProviderTokenVerifier.Key(self.tokenKey, keyID: self.keyID, teamID: self.teamID)
    }
}
