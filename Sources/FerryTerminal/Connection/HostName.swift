internal import FerryCore

/// The form of host names and addresses.
package enum HostName {
    /// The names and addresses under which only this machine reaches itself.
    package static let loopback = ["127.0.0.1", "::1", "localhost"]

    /// The limits of RFC 1035, section 2.3.4, in octets.
    private static let longestName = 253
    private static let longestLabel = 63

    /// Whether `text` has the form of a host name or an address: letters, digits, `-` and `_` between dots, or an IPv6
    /// address without brackets. Messages do not repeat other text, because people may paste a key by mistake.
    package static func isOne(_ text: String) -> Bool {
        guard 1...Self.longestName ~= text.utf8.count else { return false }
        if text.contains(":") { return self.isIPv6(text) }
        let name = text.hasSuffix(".") ? text.dropLast() : text[...]
        return name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            1...Self.longestLabel ~= label.utf8.count && label.first != "-" && label.last != "-"
                && label.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_".utf8.contains($0) }
        }
    }

    /// Whether `text` is an IPv6 address. A zone may follow `%`, as in `fe80::1%eth0`.
    private static func isIPv6(_ text: String) -> Bool {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        return text.count { $0 == ":" } > 1
            && parts[0].allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
            && parts.dropFirst().allSatisfy { zone in !zone.isEmpty && zone.utf8.allSatisfy(\.isASCIIAlphanumeric) }
    }
}
