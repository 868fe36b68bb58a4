internal import CFerryOpenSSL

// One owner for each kind of C handle. All of OpenSSL's types arrive as `OpaquePointer`, so the compiler cannot tell
// them apart. An owner names the kind. It is noncopyable, so it frees the handle exactly once. `init(_:)` takes over
// one reference, and is nil if the C call that made the handle failed.

struct OwnedConnection: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { SSL_free(self.pointer) }
}

struct OwnedContext: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { SSL_CTX_free(self.pointer) }
}

struct OwnedCertificate: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { X509_free(self.pointer) }
}

struct OwnedCertificateStack: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { CFerryOpenSSL_sk_X509_free(self.pointer) }

    var count: Int32 { CFerryOpenSSL_sk_X509_count(self.pointer) }

    /// Returns a borrowed element, which is valid as long as the stack.
    func element(_ index: Int32) -> OpaquePointer { CFerryOpenSSL_sk_X509_value(self.pointer, index) }

    /// Appends `certificate` and takes another reference to it.
    func append(_ certificate: OpaquePointer) { _ = CFerryOpenSSL_sk_X509_push(self.pointer, certificate) }
}

struct OwnedCertificateStore: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { X509_STORE_free(self.pointer) }
}

struct OwnedStoreContext: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { X509_STORE_CTX_free(self.pointer) }
}

struct OwnedKey: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { EVP_PKEY_free(self.pointer) }
}

struct OwnedPKCS12: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { PKCS12_free(self.pointer) }
}

struct OwnedPKCS8: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { PKCS8_PRIV_KEY_INFO_free(self.pointer) }
}

struct OwnedDigestContext: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { EVP_MD_CTX_free(self.pointer) }
}

struct OwnedECDSASignature: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { ECDSA_SIG_free(self.pointer) }
}

struct OwnedExtension: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { X509_EXTENSION_free(self.pointer) }
}

struct OwnedObject: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { ASN1_OBJECT_free(self.pointer) }
}

struct OwnedString: ~Copyable {
    let pointer: UnsafeMutablePointer<ASN1_STRING>
    init?(_ pointer: UnsafeMutablePointer<ASN1_STRING>?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { ASN1_STRING_free(self.pointer) }
}

struct OwnedOCSPRequest: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { OCSP_REQUEST_free(self.pointer) }
}

struct OwnedOCSPResponse: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { OCSP_RESPONSE_free(self.pointer) }
}

struct OwnedOCSPBasicResponse: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { OCSP_BASICRESP_free(self.pointer) }
}

struct OwnedOCSPCertificateID: ~Copyable {
    let pointer: OpaquePointer
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }
    deinit { OCSP_CERTID_free(self.pointer) }
}

/// OpenSSL's legacy algorithms (DES, RC2, RC4) in a separate library context. The providers of the host process stay as
/// they were.
struct LegacyLibrary: ~Copyable {
    let pointer: OpaquePointer
    private let legacy: OpaquePointer
    private let standard: OpaquePointer

    init?() {
        guard let pointer = OSSL_LIB_CTX_new() else { return nil }
        guard let legacy = OSSL_PROVIDER_load(pointer, "legacy") else {
            OSSL_LIB_CTX_free(pointer)
            return nil
        }
        // Loading one provider turned off the automatic loading of the default one.
        guard let standard = OSSL_PROVIDER_load(pointer, "default") else {
            OSSL_PROVIDER_unload(legacy)
            OSSL_LIB_CTX_free(pointer)
            return nil
        }
        self.pointer = pointer
        self.legacy = legacy
        self.standard = standard
    }

    /// Lets every call in `body` find the legacy algorithms.
    ///
    /// OpenSSL 3.0 reads keys in PEM form, and the keys of archives, only with the thread's default context. `body`
    /// must free all OpenSSL objects that it makes before it returns. It may return bytes.
    func asDefault<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        let previous = OSSL_LIB_CTX_set0_default(self.pointer)
        defer { OSSL_LIB_CTX_set0_default(previous) }
        return try body()
    }

    deinit {
        OSSL_PROVIDER_unload(self.standard)
        OSSL_PROVIDER_unload(self.legacy)
        OSSL_LIB_CTX_free(self.pointer)
    }
}
