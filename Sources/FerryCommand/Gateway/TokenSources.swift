internal import Ferry
internal import FerryCore
internal import FerryOpenSSL

/// The sources of provider tokens in this process. A key that a reload does not change keeps its source, and with it its
/// token: APNs refuses a new token within 20 minutes.
final class TokenSources: Sendable {
    private struct Key: Hashable {
        var upstream: String
        /// The hash of the private key.
        var key: [UInt8]
        var keyID: String
        var teamID: String
    }

    private struct State {
        var sources: [Key: ProviderTokenSource] = [:]
        /// The keys that were asked for since ``begin()``.
        var used: Set<Key> = []
    }

    private let state = Locked(State())
    private let place: (any SharedTokens)?

    /// - Parameter place: the place through which several processes share their tokens; nil if each makes its own.
    init(sharedIn place: (any SharedTokens)? = nil) { self.place = place }

    /// Returns the source for a key, and makes it if it is new.
    ///
    /// - Throws: `TLSError` if the file cannot be read, or is no key.
    func source(of upstream: String, p8 path: String, keyID: String, teamID: String) throws -> ProviderTokenSource {
        let key = try ES256Key(path: path)
        let name = Key(upstream: upstream, key: SHA256.hash(try key.p8()), keyID: keyID, teamID: teamID)
        let known = self.state.withLock { state in
            state.used.insert(name)
            return state.sources[name]
        }
        if let known { return known }
        let source =
            if let place {
                try ProviderTokenSource(sharingIn: place, key: key, keyID: keyID, teamID: teamID)
            } else {
                try ProviderTokenSource(key: key, keyID: keyID, teamID: teamID)
            }
        self.state.withLock { $0.sources[name] = source }
        return source
    }

    /// Call it before a configuration is read again.
    func begin() { self.state.withLock { $0.used = [] } }

    /// Forgets the sources that were not asked for since ``begin()``. Call it once the configuration is in effect.
    func forgetOthers() {
        self.state.withLock { state in state.sources = state.sources.filter { state.used.contains($0.key) } }
    }
}
