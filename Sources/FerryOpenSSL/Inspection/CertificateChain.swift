internal import CFerryOpenSSL

/// Certificates as a server sends them, or as a file holds them. The first is the owner's.
///
/// `@unchecked Sendable`: nothing changes after `init`, and OpenSSL lets any number of threads read a certificate.
package final class CertificateChain: @unchecked Sendable {
    private let stack: OwnedCertificateStack

    /// The contents of the certificates, in the order in which they came.
    package let certificates: [CertificateSummary]

    /// - Throws: ``TLSError`` with `noCertificate` or `malformed`.
    package convenience init(certificates bytes: [UInt8], source: String) throws(TLSError) {
        let stack = try PEM.certificatesAlone(bytes, source: source)
        self.init(stack)
    }

    /// Copies a chain that a connection owns; nil if OpenSSL has no memory.
    convenience init?(copying borrowed: OpaquePointer) {
        guard let stack = OwnedCertificateStack(CFerryOpenSSL_sk_X509_new()) else { return nil }
        for index in 0..<CFerryOpenSSL_sk_X509_count(borrowed) {
            if let certificate = CFerryOpenSSL_sk_X509_value(borrowed, index) { stack.append(certificate) }
        }
        self.init(stack)
    }

    private init(_ stack: consuming OwnedCertificateStack) {
        self.certificates = (0..<stack.count).compactMap { try? CertificateSummary(stack.element($0)) }
        self.stack = stack
    }

    /// Returns whether the first certificate is for `name`, a host name or an address.
    package func isFor(_ name: PeerName) -> Bool {
        self.stack.count > 0 && name.matches(self.stack.element(0))
    }

    /// Returns all faults that a client with these settings would find now in a server with this chain, except for
    /// names.
    ///
    /// A handshake stops at the first fault. This function continues, so that an operator repairs all of them at once.
    package func faults(for client: TLSContext) -> [ChainFault] {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        let context = client.handle.pointer
        guard let store = OwnedStoreContext(X509_STORE_CTX_new()), self.stack.count > 0,
            X509_STORE_CTX_init(
                store.pointer,
                SSL_CTX_get_cert_store(context),
                self.stack.element(0),
                self.stack.pointer
            ) == 1,
            X509_STORE_CTX_set_default(store.pointer, "ssl_server") == 1
        else { return [ChainFault(kind: .other("it cannot be verified"), place: 0)] }
        X509_VERIFY_PARAM_set_auth_level(
            X509_STORE_CTX_get0_param(store.pointer),
            SSL_CTX_get_security_level(context)
        )
        X509_STORE_CTX_set_verify_cb(store.pointer, collectFault)
        var faults: [ChainFault] = []
        withUnsafeMutablePointer(to: &faults) { faults in
            _ = X509_STORE_CTX_set_ex_data(store.pointer, faultsIndex, faults)
            _ = X509_verify_cert(store.pointer)
        }
        return faults
    }
}

/// The index of a verification's list of faults. OpenSSL keeps this index for applications.
private let faultsIndex: Int32 = 0

/// Notes a fault that OpenSSL found, and lets OpenSSL continue.
private func collectFault(isAccepted: Int32, store: OpaquePointer?) -> Int32 {
    guard isAccepted == 0, let store, let list = X509_STORE_CTX_get_ex_data(store, faultsIndex) else { return 1 }
    let fault = ChainFault(
        result: X509_STORE_CTX_get_error(store),
        place: Int(X509_STORE_CTX_get_error_depth(store))
    )
    let faults = list.assumingMemoryBound(to: [ChainFault].self)
    if !faults.pointee.contains(fault) { faults.pointee.append(fault) }
    return 1
}
