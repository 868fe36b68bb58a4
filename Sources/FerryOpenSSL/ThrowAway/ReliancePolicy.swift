/// The certificate policy of Apple's signers: a policy with a practice statement and a notice. It has no meaning for a
/// verifier. It gives throw-away certificates, and the texts that they sign, the size of Apple's.
///
/// ```
/// certificatePolicies: { policy, { (practice statement, address), (notice, text) } }      RFC 5280, section 4.2.1.4
/// ```
enum ReliancePolicy {
    /// id-ce-certificatePolicies
    static let oid = "2.5.29.32"

    static let der: [UInt8] = {
        // 1.2.840.113635.100.5.6.1, id-qt-cps and id-qt-unotice.
        let policy: [UInt8] = [0x06, 0x0a, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x63, 0x64, 0x05, 0x06, 0x01]
        let statement: [UInt8] = [0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x02, 0x01]
        let notice: [UInt8] = [0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x02, 0x02]
        let address = element(0x16, Array("https://example.com/certificate-practice".utf8))
        let text = element(0x0c, Array(ReliancePolicy.text.utf8))
        let qualifiers = element(0x30, statement + address) + element(0x30, notice + element(0x30, text))
        return element(0x30, element(0x30, policy + element(0x30, qualifiers)))
    }()

    private static let text = """
        This certificate was made for a test and thrown away with its key. It proves nothing, and no party may rely on it. \
        Its length is that of the notice in the certificates that sign for the App Store.
        """

    /// One element of DER, of fewer than 65,536 bytes.
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            switch count {
            case ..<0x80: [UInt8(count)]
            case ..<0x100: [0x81, UInt8(count)]
            default: [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
            }
        return [tag] + length + content
    }
}
