/// The certificates of a signature in DER form, without the root, which is pinned. Nothing about them is proved.
struct SigningCertificates: Hashable, Sendable {
    var leaf: [UInt8]
    var intermediate: [UInt8]
}
