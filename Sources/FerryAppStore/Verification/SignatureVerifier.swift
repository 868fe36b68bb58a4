internal import FerryCore
internal import FerryOpenSSL

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A verifier of Apple's signed texts. Safe from any thread.
///
/// The dates of the certificates are judged at the date that the text says it was signed at; at the present one if that date
/// cannot be read. The signature proves the date, and a text may be older than the certificates live.
final class SignatureVerifier: Sendable {
    /// A text whose signature is Apple's.
    struct Signed {
        let payload: JSONObject
        /// When it was signed, in milliseconds since 1970.
        let date: Int64
        let chain: SigningChain
    }

    /// A text in the right form. Nothing in it is proved.
    struct Unverified {
        fileprivate let jws: CompactJWS
        let payload: JSONObject
        /// Nil if it cannot be read.
        let date: Int64?
        /// Where the text stood, for errors: "signedPayload".
        let place: String
    }

    /// How many chains are remembered. Apple has a few, each for two years.
    static let cacheLimit = 64

    /// Apple's marks on the certificates that sign for the App Store: the border to all other certificates under its root.
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

    /// - Parameter now: the clock of the failures.
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
            // Apple's own test certificates have no key identifiers, which the strict rules demand.
            self.verifier = try SigningChainVerifier(roots: text, isStrict: false, requirement: Self.requirement)
        }
    }

    /// Reads a text without verifying it.
    ///
    /// - Parameter place: the member that held it, for errors.
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
        // An app transaction has its date under the other name.
        let date = payload.integer("signedDate") ?? payload.integer("receiptCreationDate")
        return Unverified(
            jws: jws,
            payload: payload,
            date: date.flatMap { Self.dates.contains($0) ? $0 : nil },
            place: place
        )
    }

    /// The years 1970 to 9999: OpenSSL reads no others.
    static let dates: ClosedRange<Int64> = 0...253_402_300_799_999

    /// Verifies a text that was read. Cost: 60 µs; for certificates that are not remembered 80 µs more, and 2 ms if it is signed
    /// with their key.
    ///
    /// - Parameter isInvited: whether the owner or Apple's own server gave it. A flood of strangers' texts does not
    ///   keep it out.
    func verify(_ text: Unverified, isInvited: Bool = false) throws(AppStoreVerificationError) -> Signed {
        let chain = try self.chain(text, isInvited: isInvited)
        guard chain.isValidSignature(text.jws.signature, for: text.jws.signingInput) else {
            throw Self.wrongSignature(text)
        }
        // After the signature: what is genuine and unknown must come again when it is known.
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
        // Whoever does not have the key of the certificate costs no look at the chain.
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
            // What is no certificate costs nothing, and must not keep the App Store's next ones out.
            if code != .malformed, !isInvited { self.failures.withLock { $0.add(at: self.now()) } }
            if Self.isForGood(error) { self.refused.withLock { $0.add(digest, Self.words(error)) } }
            throw AppStoreVerificationError(code, "\(text.place): \(Self.words(error)).")
        }
    }

    private func remember(_ chain: SigningChain, _ key: SigningCertificates) {
        self.cache.withLock { cache in
            // Only Apple makes chains that get here, so what is dropped hardly matters.
            if cache.count >= Self.cacheLimit, let some = cache.keys.first { cache[some] = nil }
            cache[key] = chain
        }
    }

    /// Looks at certificates before a text comes with them, so that no flood of forged ones can keep it out. Bad ones have no
    /// effect. Cost: 2 ms each.
    func learn(_ certificates: [SigningCertificates], at seconds: Int) {
        for key in certificates where self.cache.withLock({ $0[key] == nil }) {
            let chain = try? self.verifier.verify(leaf: key.leaf, intermediate: key.intermediate, at: seconds)
            if let chain { self.remember(chain, key) }
        }
    }

    /// Calls `body` with certificates that are found good for the first time, on any thread. They are few.
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

    /// Whether the certificates do not count at any date.
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

/// The roots of the App Store's signatures.
@nonexhaustive
public enum AppStoreTrustRoots: Hashable, Sendable {
    /// Apple Root CA - G3, which is built in.
    case apple
    /// Other roots, for tests: PEM text.
    case pem([UInt8])
}
