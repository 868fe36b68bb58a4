internal import CFerryOpenSSL

/// The mark by which `ferry doctor` names itself in its first TLS message, so that a gateway knows its probes.
///
/// It is an extension without contents, with a number for private use (RFC 8446 section 11). A server must ignore an
/// unknown extension (section 4.1.2).
enum DoctorMark {
    private static let number: UInt32 = 65_296
    /// The index at which a server's connection notes the mark. OpenSSL keeps 0 for applications, and a server does not use
    /// it otherwise.
    private static let index: Int32 = 0

    /// Lets each connection of a client carry the mark.
    static func add(to context: borrowing OwnedContext) {
        // The call fails only if the extension exists already, or without memory. The probe then has no mark.
        _ = SSL_CTX_add_custom_ext(
            context.pointer,
            self.number,
            UInt32(SSL_EXT_CLIENT_HELLO),
            { _, _, _, out, length, _, _, _, _ in
                out?.pointee = nil
                length?.pointee = 0
                return 1
            },
            nil,
            nil,
            nil,
            nil
        )
    }

    /// Lets each connection of a server look for the mark, before it judges version and cipher suites.
    static func look(in context: borrowing OwnedContext) {
        // OpenSSL forgets extensions that it does not know before anyone can ask for them.
        _ = SSL_CTX_add_custom_ext(context.pointer, self.number, UInt32(SSL_EXT_CLIENT_HELLO), nil, nil, nil, nil, nil)
        SSL_CTX_set_client_hello_cb(
            context.pointer,
            { ssl, _, _ in
                var contents: UnsafePointer<UInt8>?
                var length = 0
                if SSL_client_hello_get0_ext(ssl, DoctorMark.number, &contents, &length) == 1 {
                    SSL_set_ex_data(ssl, DoctorMark.index, UnsafeMutableRawPointer(bitPattern: 1))
                }
                return SSL_CLIENT_HELLO_SUCCESS
            },
            nil
        )
    }

    /// Whether the client of a server's connection has the mark.
    static func isOn(_ connection: OpaquePointer) -> Bool { SSL_get_ex_data(connection, self.index) != nil }
}
