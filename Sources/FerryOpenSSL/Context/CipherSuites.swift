internal import CFerryOpenSSL

/// The cipher suites of a context. The system's policy decides which suites it has. This type decides their order.
///
/// The legacy profile has all suites. OpenSSL uses the weak ones only because ``TLSContext`` sets its security level to 0.
struct CipherSuites {
    private struct Suite {
        var name: String
        /// Whether the suite is of TLS 1.3. Those suites have a separate list.
        var isOfTLS13: Bool
        /// Whether the suite is among the fastest: AES-128 is a third faster than AES-256.
        var isFast: Bool
        /// Whether the key exchange is ephemeral and the encryption authenticated. HTTP/2 forbids all others over TLS
        /// 1.2 (RFC 9113, appendix A).
        var isAllowedByHTTP2: Bool

        init?(_ cipher: OpaquePointer?) {
            guard let cipher, let name = SSL_CIPHER_get_name(cipher).map({ String(cString: $0) }) else { return nil }
            let isEphemeral = [NID_kx_ecdhe, NID_kx_dhe].contains(SSL_CIPHER_get_kx_nid(cipher))
            self.name = name
            // The suites of TLS 1.3 have the numbers 0x13.. (RFC 8446 section B.4).
            self.isOfTLS13 = SSL_CIPHER_get_protocol_id(cipher) >> 8 == 0x13
            self.isAllowedByHTTP2 = self.isOfTLS13 || isEphemeral && SSL_CIPHER_is_aead(cipher) == 1
            self.isFast =
                SSL_CIPHER_get_cipher_nid(cipher) == NID_aes_128_gcm
                && (self.isOfTLS13 || SSL_CIPHER_get_kx_nid(cipher) == NID_kx_ecdhe)
        }
    }

    /// All suites with which OpenSSL can authenticate a server. Peers of the legacy profile may know any of them.
    private static let everything = "ALL:!aNULL:!eNULL"

    private let suites: [Suite]

    /// Reads the suites that OpenSSL put into a new context, by the system's policy.
    private init(of context: borrowing OwnedContext) {
        let pointer = context.pointer
        self.suites = (0..<CFerryOpenSSL_cipher_count(pointer)).compactMap { Suite(CFerryOpenSSL_cipher(pointer, $0)) }
    }

    /// The suites in Ferry's order. The peer may choose by this order.
    private var ordered: [Suite] {
        self.suites.filter(\.isFast)
            + self.suites.filter { !$0.isFast && $0.isAllowedByHTTP2 }
            + self.suites.filter { !$0.isFast && !$0.isAllowedByHTTP2 }
    }

    /// Puts the suites of a new context in order. The legacy profile gets all suites.
    static func install(_ profile: TLSProfile, in context: borrowing OwnedContext) throws(TLSError) {
        ErrorQueue.clear()
        guard profile == .modern || SSL_CTX_set_cipher_list(context.pointer, self.everything) == 1 else {
            throw self.refused()
        }
        let ordered = CipherSuites(of: context).ordered
        let tls13 = ordered.filter(\.isOfTLS13).map(\.name).joined(separator: ":")
        let older = ordered.filter { !$0.isOfTLS13 }.map(\.name).joined(separator: ":")
        guard
            // A policy may leave only suites of TLS 1.3.
            older.isEmpty || SSL_CTX_set_cipher_list(context.pointer, older) == 1,
            SSL_CTX_set_ciphersuites(context.pointer, tls13) == 1
        else { throw self.refused() }
    }

    private static func refused(file: String = #fileID, line: Int = #line) -> TLSError {
        .openSSL(.invalidConfiguration, "OpenSSL refuses the list of cipher suites.", file: file, line: line)
    }
}
