/// IP addresses that share their first bits, such as `10.0.0.0/8`. One address is a network, too. An IPv4 address in IPv6
/// form, such as `::ffff:10.0.0.1`, is the same address.
package struct IPNetwork: Hashable, Sendable {
    /// The first bytes of an IPv4 address in IPv6 form (RFC 4291, 2.5.5.2).
    private static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

    private let address: [UInt8]
    private let bits: Int

    /// - Parameter text: an address without brackets, or an address, a slash and a number of bits. Returns nil for any
    ///   other text.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = Self.address(String(parts[0])) else { return nil }
        var bits = address.count * 8
        if parts.count > 1 {
            // A sign would pass as a number.
            guard parts[1].allSatisfy(\.isNumber), let number = Int(parts[1]), number <= bits else { return nil }
            bits = number
        }
        let isMapped = bits >= Self.mapped.count * 8 && address.starts(with: Self.mapped)
        self.address = isMapped ? Self.short(address) : address
        self.bits = isMapped ? bits - Self.mapped.count * 8 : bits
    }

    /// Returns the four bytes of an IPv4 address in IPv6 form, and any other address as it is.
    package static func short(_ address: [UInt8]) -> [UInt8] {
        address.count == 16 && address.starts(with: Self.mapped) ? Array(address[Self.mapped.count...]) : address
    }

    /// Returns the 4 or 16 bytes of an address in network order; nil if the text is something else.
    package static func address(_ text: String) -> [UInt8]? {
        // The system's function reads a text only up to a zero byte.
        guard !text.utf8.contains(0) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes.prefix(4)) }
        if inet_pton(AF_INET6, text, &bytes) == 1 { return bytes }
        return nil
    }

    /// - Parameter address: 4 or 16 bytes in network order. A network of one version has no address of the other.
    package func contains(_ address: [UInt8]) -> Bool {
        let address = Self.short(address)
        guard self.address.count == address.count else { return false }
        let (whole, rest) = (self.bits / 8, self.bits % 8)
        guard self.address.prefix(whole) == address.prefix(whole) else { return false }
        return rest == 0 || (self.address[whole] ^ address[whole]) >> UInt8(8 - rest) == 0
    }
}
