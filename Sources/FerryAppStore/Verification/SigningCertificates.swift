/// The certificates of a signature in DER form. The root is pinned, so it is not among them. Nothing about them is
/// proved yet.
struct SigningCertificates: Hashable, Sendable {
    var leaf: [UInt8]
    var intermediate: [UInt8]
}
