internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform

/// A verifier of Apple's signed texts. Safe from any thread.
///
/// The certificates must be valid at the date in the text, or now if that date cannot be read. The date can be
/// trusted, because the signature covers it. So an old text stays good after its certificates have expired.
final class SignatureVerifier: Sendable {
    /// A text with a valid signature of Apple's.
    struct Signed {
        let payload: JSONObject
        /// The date of the signature, in milliseconds since 1970.
        let date: Int64
        let chain: SigningChain
    }

    /// A text in the right form. Nothing in it is proved yet.
    struct Unverified {
        fileprivate let jws: CompactJWS
        let payload: JSONObject
        /// The date of the signature, in milliseconds since 1970; nil if it cannot be read.
        let date: Int64?
        /// The name of the text in sentences of errors, such as "signedPayload".
        let place: String
    }

    /// The largest number of remembered chains. Apple uses few, each for two years.
    static let cacheLimit = 64

    /// The extensions that Apple gives to certificates that sign for the App Store. Apple's other certificates under
    /// the same root do not have them.
    static let requirement = SigningChainVerifier.Requirement(
        leafExtension: "1.2.840.113635.100.6.11.1",
        intermediateExtension: "1.2.840.113635.100.6.2.1"
    )

    private let verifier: SigningChainVerifier
    private let cache = Locked<[SigningCertificates: SigningChain]>([:])
    private let onNews = Locked<(@Sendable (SigningCertificates) -> Void)?>(nil)
    private let refused = Locked(RefusedChains())
    private let failures = Locked(FailureRate())
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameter now: the clock of the limit on failures.
    init(
        _ roots: AppStoreTrustRoots,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) throws(TLSError) {
        self.now = now
        switch roots {
        case .apple:
            self.verifier = try SigningChainVerifier(
                roots: Array(AppleRoot.pem.utf8),
                isStrict: true,
                requirement: Self.requirement
            )
        case .pem(let text):
            // The strict rules demand key identifiers. Apple's own test certificates have none, so the rules here are
            // not strict.
            self.verifier = try SigningChainVerifier(roots: text, isStrict: false, requirement: Self.requirement)
        }
    }

    /// Parses a text without verifying it.
    ///
    /// - Parameter place: the name of the text in sentences of errors.
    func read(_ text: some Collection<UInt8>, place: String) throws(AppStoreVerificationError) -> Unverified {
        let jws: CompactJWS
        do {
            jws = try CompactJWS(text)
        } catch {
            throw AppStoreVerificationError(.malformed, "\(place) \(Self.words(error)).")
        }
        guard let payload = JSONObject(jws.payload) else {
            throw AppStoreVerificationError(.malformed, "What \(place) signs is not one JSON object.")
        }
        // An app transaction has its date in `receiptCreationDate`.
        let date = payload.integer("signedDate") ?? payload.integer("receiptCreationDate")
        return Unverified(
            jws: jws,
            payload: payload,
            date: date.flatMap { Self.dates.contains($0) ? $0 : nil },
            place: place
        )
    }

    /// The dates that are understood, in milliseconds since the UNIX epoch. OpenSSL reads no year after 9999.
    static let dates: ClosedRange<Int64> = 0...253_402_300_799_999

    /// Verifies a text that was parsed. Cost: 60 µs. Certificates that are not remembered cost 80 µs more, and 2 ms
    /// more if their key signed the text.
    ///
    /// - Parameter isInvited: whether the text comes from the owner or from Apple's own server. The limit of
    ///   ``FailureRate`` does not apply to such a text.
    func verify(_ text: Unverified, isInvited: Bool = false) throws(AppStoreVerificationError) -> Signed {
        let chain = try self.chain(text, isInvited: isInvited)
        guard chain.isValidSignature(text.jws.signature, for: text.jws.signingInput) else {
            throw Self.wrongSignature(text)
        }
        // This check comes after the signature. A genuine text without a readable date must get `notUnderstood`, so
        // that Apple repeats it for a later version of Ferry.
        guard let date = text.date else {
            throw AppStoreVerificationError(
                .notUnderstood,
                "\(text.place) is genuine, and has no signedDate in milliseconds."
            )
        }
        return Signed(payload: text.payload, date: date, chain: chain)
    }

    private func chain(_ text: Unverified, isInvited: Bool) throws(AppStoreVerificationError) -> SigningChain {
        let key = SigningCertificates(leaf: text.jws.certificates[0], intermediate: text.jws.certificates[1])
        let seconds = text.date.map { Int($0 / 1000) } ?? Int(Date.now.timeIntervalSince1970)
        if let known = self.cache.withLock({ $0[key] }), known.validity.contains(seconds) { return known }
        // The signature is checked before the chain. A sender without the certificate's key then causes no check of the
        // chain.
        let (signature, input) = (text.jws.signature, text.jws.signingInput)
        guard SigningChainVerifier.isSignature(signature, of: input, by: key.leaf) ?? true else {
            throw Self.wrongSignature(text)
        }
        let digest = SHA256.hash(key.leaf) + SHA256.hash(key.intermediate)
        if let reason = self.refused.withLock({ $0.reason(of: digest) }) {
            throw AppStoreVerificationError(.forged, "\(text.place): \(reason).")
        }
        guard isInvited || self.failures.withLock({ $0.permits(at: self.now()) }) else {
            throw AppStoreVerificationError(
                .tryAgain,
                "\(text.place): too many forged certificates come now to look at unknown ones."
            )
        }
        do {
            let chain = try self.verifier.verify(leaf: key.leaf, intermediate: key.intermediate, at: seconds)
            self.remember(chain, key)
            self.onNews.withLock(\.self)?(key)
            return chain
        } catch {
            let code = Self.code(error)
            // The check of a malformed certificate costs little. If it counted, a flood of malformed certificates
            // could reach the limit at no cost, and new certificates of the App Store would be refused.
            if code != .malformed, !isInvited { self.failures.withLock { $0.add(at: self.now()) } }
            if Self.isForGood(error) { self.refused.withLock { $0.add(digest, Self.words(error)) } }
            throw AppStoreVerificationError(code, "\(text.place): \(Self.words(error)).")
        }
    }

    private func remember(_ chain: SigningChain, _ key: SigningCertificates) {
        self.cache.withLock { cache in
            // All remembered chains are genuine, so it does not matter which chain is dropped.
            if cache.count >= Self.cacheLimit, let some = cache.keys.first { cache[some] = nil }
            cache[key] = chain
        }
    }

    /// Checks pairs of certificates and remembers the good pairs, before the first text that needs them. So a flood
    /// of forged certificates cannot keep such a text out. A pair that is not valid at `seconds` (since 1970) has no
    /// effect. Cost: 2 ms for each pair that is not remembered.
    func learn(_ certificates: [SigningCertificates], at seconds: Int) {
        for key in certificates where self.cache.withLock({ $0[key] == nil }) {
            let chain = try? self.verifier.verify(leaf: key.leaf, intermediate: key.intermediate, at: seconds)
            if let chain { self.remember(chain, key) }
        }
    }

    /// Sets the function that gets each new pair of certificates that ``verify(_:isInvited:)`` finds good. It is
    /// called rarely, on any thread.
    func whenNew(_ body: @escaping @Sendable (SigningCertificates) -> Void) { self.onNews.withLock { $0 = body } }

    private static func wrongSignature(_ text: Unverified) -> AppStoreVerificationError {
        AppStoreVerificationError(.forged, "The signature of \(text.place) is not that of its certificate.")
    }

    private static func code(_ fault: SigningChainFault) -> AppStoreVerificationError.Code {
        switch fault {
        case .malformed: .malformed
        case .notJudged: .tryAgain
        case .expired, .notYetValid, .missingExtension, .wrongKey, .wrongLength, .unverifiable: .forged
        }
    }

    /// Whether the certificates are refused for every date.
    private static func isForGood(_ fault: SigningChainFault) -> Bool {
        switch fault {
        case .missingExtension, .wrongKey, .wrongLength, .unverifiable: true
        case .malformed, .expired, .notYetValid, .notJudged: false
        }
    }

    private static func words(_ fault: CompactJWS.Fault) -> String {
        switch fault {
        case .notThreeParts: "does not have the three parts of a signed text"
        case .notBase64URL: "is not in the alphabet of base64url, without padding"
        case .headerNotJSON: "has a header that is not one JSON object"
        case .wrongAlgorithm: "has another algorithm than ES256"
        case .criticalExtension: "demands an extension (crit)"
        case .wrongCertificates: "does not have three certificates in Base64 (x5c)"
        case .wrongSignatureLength: "has a signature of another length than 64 bytes"
        }
    }

    private static func words(_ fault: SigningChainFault) -> String {
        switch fault {
        case .malformed(let place): "\(place) cannot be read"
        case .expired(let place): "\(place) had expired at signedDate"
        case .notYetValid(let place): "\(place) was not yet valid at signedDate"
        case .missingExtension(let place): "\(place) lacks the extension that Apple gives to signers of the App Store"
        case .wrongKey: "the signer's certificate has no P-256 key"
        case .wrongLength: "the certificates do not lead to the root over one intermediate"
        case .unverifiable(let reason): "the certificates do not lead to a trusted root: \(reason)"
        case .notJudged(let reason): "the certificates could not be judged: \(reason)"
        }
    }
}

/// The root certificates of the App Store's signatures.
@nonexhaustive
public enum AppStoreTrustRoots: Hashable, Sendable {
    /// Apple Root CA - G3, which is built in.
    case apple
    /// Other roots as PEM text, for tests.
    case pem([UInt8])
}
