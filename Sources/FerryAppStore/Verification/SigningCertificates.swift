/// The certificates of a signature in DER form, not verified yet. The root certificate is missing, because the
/// verifier has its own.
struct SigningCertificates: Hashable, Sendable {
    var leaf: [UInt8]
    var intermediate: [UInt8]
}
