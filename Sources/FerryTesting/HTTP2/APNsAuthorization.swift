package import FerryCore
package import FerryMachine
internal import NIOCore

/// Decides on the provider tokens of one connection.
package struct APNsAuthorization: Sendable {
    private var verifier: ProviderTokenVerifier
    private var history: ProviderTokenHistory

    /// - Parameters:
    ///   - keys: those that are known.
    ///   - updateInterval: how far apart a connection's tokens must be.
    package init(keys: [ProviderTokenVerifier.Key], updateInterval: Duration) {
        self.verifier = ProviderTokenVerifier(keys)
        self.history = ProviderTokenHistory(updateInterval: TimeAmount(updateInterval))
    }

    /// Why a request with this value of `authorization` is refused; nil when it is not.
    package mutating func fault(of value: UnsafeBufferPointer<UInt8>?, now: Moment) -> Reason? {
        switch self.verifier.verify(value, epochSeconds: now.epochSeconds) {
        case .ok(let token): self.history.use(token, now: now.monotonic)
        case .refused(let reason): reason
        }
    }
}

extension TestCredentials {
    /// The key that a simulated APNs takes provider tokens of.
    package var providerTokenKey: ProviderTokenVerifier.Key {
        ProviderTokenVerifier.Key(self.tokenKey, keyID: self.keyID, teamID: self.teamID)
    }
}
