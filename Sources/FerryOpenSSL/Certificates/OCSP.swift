internal import CFerryOpenSSL

/// A certificate of a signing chain that its issuer may have revoked.
package enum OCSPSubject: Hashable, Sendable, CaseIterable, CustomStringConvertible {
    case leaf, intermediate

    package var description: String {
        switch self {
        case .leaf: SigningChainFault.Place.leaf.description
        case .intermediate: SigningChainFault.Place.intermediate.description
        }
    }
}

/// A question whether a certificate is revoked (RFC 6960). Two questions about one certificate are equal.
package struct OCSPQuestion: Hashable, Sendable {
    /// The address that the certificate names, for a POST.
    package let address: String
    /// The request in DER form, of the type `application/ocsp-request`. Without a nonce: most responders sign ahead.
    package let request: [UInt8]
}

/// The statement of an answer about a certificate.
package enum OCSPVerdict: Hashable, Sendable {
    /// The certificate is not revoked. The answer is good until this time, in seconds since 1970; nil if unknown.
    case good(until: Int?)
    case revoked
    /// The answer settles nothing, for this reason.
    case unusable(String)
}

extension SigningChain {
    /// The clocks of responders may differ by so many seconds.
    private static let skew = 60
    /// How old an answer may be that does not say until when it is good, in seconds. An older one may be a copy that an
    /// attacker kept.
    private static let longestAge = 3600

    /// Returns the question about a certificate; nil when the certificate names no responder.
    package func ocspQuestion(_ subject: OCSPSubject) -> OCSPQuestion? {
        defer { ErrorQueue.clear() }
        let (certificate, issuer) = self.pair(subject)
        guard let text = CFerryOpenSSL_ocsp_address(certificate) else { return nil }
        defer { CFerryOpenSSL_free(text) }
        guard let request = OwnedOCSPRequest(OCSP_REQUEST_new()),
            let identifier = OCSP_cert_to_id(nil, certificate, issuer)
        else { return nil }
        // From here the request owns the identifier.
        guard OCSP_request_add0_id(request.pointer, identifier) != nil else {
            OCSP_CERTID_free(identifier)
            return nil
        }
        let pointer = request.pointer
        guard let bytes = encodedDER({ i2d_OCSP_REQUEST(pointer, $0) }) else { return nil }
        return OCSPQuestion(address: String(cString: text), request: bytes)
    }

    /// Reads and verifies a responder's answer about a certificate.
    ///
    /// The signer must be the certificate's issuer, or have the extended key usage OCSPSigning from it (RFC 6960, section
    /// 4.2.2.2).
    package func ocspVerdict(_ answer: [UInt8], on subject: OCSPSubject) -> OCSPVerdict {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        let (certificate, issuer) = self.pair(subject)
        guard let response = OwnedOCSPResponse(decodedDER(answer) { d2i_OCSP_RESPONSE(nil, $0, $1) }) else {
            return .unusable("it is not an OCSP response")
        }
        let status = OCSP_response_status(response.pointer)
        guard status == OCSP_RESPONSE_STATUS_SUCCESSFUL else {
            return .unusable("the responder says \"\(String(cString: OCSP_response_status_str(Int(status))))\"")
        }
        guard let basic = OwnedOCSPBasicResponse(OCSP_response_get1_basic(response.pointer)),
            let identifier = OwnedOCSPCertificateID(OCSP_cert_to_id(nil, certificate, issuer)),
            let store = OwnedCertificateStore(X509_STORE_new()),
            let others = OwnedCertificateStack(CFerryOpenSSL_sk_X509_new())
        else { return .unusable("it is not a basic OCSP response") }
        others.append(self.intermediate.pointer)
        others.append(self.root.pointer)
        guard X509_STORE_add_cert(store.pointer, self.root.pointer) == 1 else {
            return .unusable("OpenSSL has no memory")
        }
        // Without OCSP_NOEXPLICIT, a root that is trusted for OCSP would speak for all issuers below it.
        let flags = UInt(OCSP_NOEXPLICIT)
        guard OCSP_basic_verify(basic.pointer, others.pointer, store.pointer, flags) == 1 else {
            let reason = ErrorQueue.drain().last?.cause.reason ?? "unknown"
            return .unusable("its signature is not that of the issuer or its responder: \(reason)")
        }
        return Self.verdict(basic.pointer, identifier.pointer)
    }

    private static func verdict(_ basic: OpaquePointer, _ identifier: OpaquePointer) -> OCSPVerdict {
        var status: Int32 = -1
        var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        guard OCSP_resp_find_status(basic, identifier, &status, nil, nil, &thisUpdate, &nextUpdate) == 1 else {
            return .unusable("it is about another certificate")
        }
        let age = nextUpdate == nil ? Self.longestAge : -1
        guard OCSP_check_validity(thisUpdate, nextUpdate, Self.skew, age) == 1 else {
            return .unusable("its time is over, or has not come; or this machine's clock is wrong")
        }
        return switch status {
        case V_OCSP_CERTSTATUS_GOOD: .good(until: CertificateReader.seconds(nextUpdate))
        case V_OCSP_CERTSTATUS_REVOKED: .revoked
        default: .unusable("the responder does not know the certificate")
        }
    }

    /// A certificate, and that of its issuer.
    private func pair(_ subject: OCSPSubject) -> (OpaquePointer, OpaquePointer) {
        switch subject {
        case .leaf: (self.leaf.pointer, self.intermediate.pointer)
        case .intermediate: (self.intermediate.pointer, self.root.pointer)
        }
    }
}
