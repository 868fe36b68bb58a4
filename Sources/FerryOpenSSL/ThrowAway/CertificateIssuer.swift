internal import CFerryOpenSSL

/// The contents of a certificate to issue.
struct CertificateRequest {
    /// Short names of attributes with their values, such as ("CN", "localhost").
    var subject: [(String, String)]
    /// Seconds relative to now.
    var validity: (from: Int, to: Int)
    /// Object identifiers of extensions, with values that are DER already.
    var rawExtensions: [(oid: String, value: [UInt8])] = []
    var digest = Digest.sha256

    enum Digest {
        case sha256, sha384
    }
}

/// An issuer of X.509 certificates for ``ThrowAwayCA``.
struct CertificateIssuer {
    private let request: CertificateRequest

    init(_ request: CertificateRequest) {
        self.request = request
    }

    func selfSigned(
        _ key: consuming OwnedKey,
        extensions: [(Int32, String)]
    ) throws(TLSError) -> KeyMaterial {
        let certificate = try self.unsigned(for: key)
        let name = X509_get_subject_name(certificate.pointer)
        try self.sign(
            certificate,
            extensions: extensions,
            issuer: certificate.pointer,
            issuerName: name,
            with: key.pointer
        )
        return try self.material(certificate, key)
    }

    func issued(
        by authority: KeyMaterial,
        to key: consuming OwnedKey,
        extensions: [(Int32, String)]
    ) throws(TLSError) -> KeyMaterial {
        let certificate = try self.unsigned(for: key)
        let issuer = authority.certificate.pointer
        let name = X509_get_subject_name(issuer)
        try self.sign(
            certificate,
            extensions: extensions,
            issuer: issuer,
            issuerName: name,
            with: authority.key.pointer
        )
        return try self.material(certificate, key)
    }

    private func material(
        _ certificate: borrowing OwnedCertificate,
        _ key: consuming OwnedKey
    ) throws(TLSError) -> KeyMaterial {
        guard let stack = OwnedCertificateStack(CFerryOpenSSL_sk_X509_new()) else { throw Self.failure() }
        stack.append(certificate.pointer)
        return try KeyMaterial(key: key, certificates: stack, source: "the new certificate")
    }

    private func unsigned(for key: borrowing OwnedKey) throws(TLSError) -> OwnedCertificate {
        ErrorQueue.clear()
        guard let certificate = OwnedCertificate(X509_new()), let name = X509_get_subject_name(certificate.pointer)
        else { throw Self.failure() }
        var isComplete =
            X509_set_version(certificate.pointer, Int(X509_VERSION_3)) == 1
            && ASN1_INTEGER_set_uint64(
                X509_get_serialNumber(certificate.pointer),
                .random(in: 1 ... .max >> 1)
            ) == 1
            && X509_gmtime_adj(X509_getm_notBefore(certificate.pointer), self.request.validity.from) != nil
            && X509_gmtime_adj(X509_getm_notAfter(certificate.pointer), self.request.validity.to) != nil
            && X509_set_pubkey(certificate.pointer, key.pointer) == 1
        for (attribute, value) in self.request.subject where isComplete {
            // The value of MBSTRING_UTF8.
            let kind: Int32 = 0x1000
            isComplete = X509_NAME_add_entry_by_txt(name, attribute, kind, value, -1, -1, 0) == 1
        }
        guard isComplete else { throw Self.failure() }
        return certificate
    }

    private func sign(
        _ certificate: borrowing OwnedCertificate,
        extensions: [(Int32, String)],
        issuer: OpaquePointer,
        issuerName: OpaquePointer?,
        with key: OpaquePointer
    ) throws(TLSError) {
        guard X509_set_issuer_name(certificate.pointer, issuerName) == 1 else { throw Self.failure() }
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer, certificate.pointer, nil, nil, 0)
        for (nid, value) in extensions {
            guard let made = OwnedExtension(X509V3_EXT_nconf_nid(nil, &context, nid, value)),
                X509_add_ext(certificate.pointer, made.pointer, -1) == 1
            else { throw Self.failure() }
        }
        for (oid, value) in self.request.rawExtensions {
            guard let object = OwnedObject(OBJ_txt2obj(oid, 1)), let data = OwnedString(ASN1_STRING_new()),
                ASN1_STRING_set(data.pointer, value, Int32(value.count)) == 1,
                let made = OwnedExtension(X509_EXTENSION_create_by_OBJ(nil, object.pointer, 0, data.pointer)),
                X509_add_ext(certificate.pointer, made.pointer, -1) == 1
            else { throw Self.failure() }
        }
        let digest = self.request.digest == .sha256 ? EVP_sha256() : EVP_sha384()
        guard X509_sign(certificate.pointer, key, digest) > 0 else { throw Self.failure() }
    }

    private static func failure(file: String = #fileID, line: Int = #line) -> TLSError {
        .openSSL(.internalFailure, "OpenSSL cannot make a certificate.", file: file, line: line)
    }
}
