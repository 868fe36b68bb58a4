internal import CFerryOpenSSL

/// The name by which a client knows its server. The server's certificate must be for this name.
package struct PeerName: Sendable, Hashable {
    private enum Kind: Hashable {
        case host(String)
        case address(String)
    }

    private let kind: Kind

    /// Creates a name from a host name or an IP address (v4 or v6, also in brackets). The form of the text decides
    /// which.
    package init(_ text: String) {
        var name = text
        if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
        if Self.isAddress(name) {
            self.kind = .address(name)
        } else {
            // No certificate has the final dot of a fully qualified name.
            self.kind = .host(name.hasSuffix(".") ? String(name.dropLast()) : name)
        }
    }

    private static func isAddress(_ text: String) -> Bool {
        defer { ErrorQueue.clear() }
        guard let octets = a2i_IPADDRESS(text) else { return false }
        ASN1_STRING_free(octets)
        return true
    }

    /// Returns whether a certificate is for this name, by the rules of a connection.
    func matches(_ certificate: OpaquePointer) -> Bool {
        defer { ErrorQueue.clear() }
        let flags = UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)
        return switch self.kind {
        case .host(let name): X509_check_host(certificate, name, name.utf8.count, flags, nil) == 1
        case .address(let address): X509_check_ip_asc(certificate, address, 0) == 1
        }
    }

    /// Makes a connection check the name, and ask for it by SNI. Addresses are never sent (RFC 6066 section 3).
    ///
    /// - Throws: `invalidConfiguration` for a text that cannot be a host name.
    func install(in ssl: OpaquePointer, verify: Bool) throws(TLSError) {
        // OpenSSL takes an empty name for "any name", and a leading dot for "any name below".
        if case .host(let name) = self.kind, name.isEmpty || name.hasPrefix(".") || name.utf8.contains(0) {
            throw TLSError(.invalidConfiguration, "The server name is neither a host name nor an IP address.")
        }
        ErrorQueue.clear()
        let isAccepted =
            switch self.kind {
            case .host(let name):
                CFerryOpenSSL_SSL_set_host_name(ssl, name) == 1 && (!verify || SSL_set1_host(ssl, name) == 1)
            case .address(let address):
                !verify || X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), address) == 1
            }
        SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        guard isAccepted else {
            throw .openSSL(.invalidConfiguration, "The server name is neither a host name nor an IP address.")
        }
    }
}
