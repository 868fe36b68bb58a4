internal import CFerryOpenSSL
internal import FerryCore

/// A reader of single facts in an `X509`, which it only borrows.
///
/// Its texts are printable, because the owner of a certificate chooses them, and people read them on terminals.
struct CertificateReader {
    private let certificate: OpaquePointer

    init(_ certificate: OpaquePointer) {
        self.certificate = certificate
    }

    var subject: String { self.text(of: X509_get_subject_name(self.certificate)) }
    var issuer: String { self.text(of: X509_get_issuer_name(self.certificate)) }
    var commonName: String? { self.subjectEntry(NID_commonName) }
    var userID: String? { self.subjectEntry(NID_userId) }
    /// Seconds since 1970.
    var notBefore: Int? { Self.seconds(X509_get0_notBefore(self.certificate)) }
    /// Seconds since 1970.
    var notAfter: Int? { Self.seconds(X509_get0_notAfter(self.certificate)) }

    var isSelfSigned: Bool {
        defer { ErrorQueue.clear() }
        return X509_self_signed(self.certificate, 1) == 1
    }

    var isForClients: Bool {
        defer { ErrorQueue.clear() }
        return X509_check_purpose(self.certificate, X509_PURPOSE_SSL_CLIENT, 0) == 1
    }

    var keyKind: String {
        guard let key = X509_get0_pubkey(self.certificate) else {
            ErrorQueue.clear()
            return "unknown"
        }
        // Without `FerryOpenSSL`, this property would call itself.
        return FerryOpenSSL.keyKind(key)
    }

    var fingerprint: [UInt8] {
        SHA256.result { X509_digest(self.certificate, EVP_sha256(), $0, $1) == 1 }
    }

    var alternativeNames: (dns: [String], ip: [String]) {
        var dns: [String] = []
        var ip: [String] = []
        // GeneralName: dNSName is [2] IA5String, iPAddress is [7] OCTET STRING (RFC 5280 section 4.2.1.6).
        for element in DERReader.elements(ofSequence: self.extensionValue(oid: "2.5.29.17") ?? []) {
            switch element.tag {
            case 0x82: dns.append(String(decoding: element.contents, as: UTF8.self).printable)
            case 0x87: ip.append(self.addressText(element.contents))
            default: break
            }
        }
        return (dns, ip)
    }

    /// Returns the DER bytes inside an extension; nil if the certificate does not have it.
    func extensionValue(oid: String) -> [UInt8]? {
        ErrorQueue.clear()
        guard let object = OwnedObject(OBJ_txt2obj(oid, 1)) else { return nil }
        let index = X509_get_ext_by_OBJ(self.certificate, object.pointer, -1)
        guard index >= 0, let data = X509_EXTENSION_get_data(X509_get_ext(self.certificate, index)) else { return nil }
        return self.bytes(of: data)
    }

    private func subjectEntry(_ nid: Int32) -> String? {
        guard let name = X509_get_subject_name(self.certificate) else { return nil }
        let index = X509_NAME_get_index_by_NID(name, nid, -1)
        guard index >= 0, let value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index)) else { return nil }
        var utf8: UnsafeMutablePointer<UInt8>?
        let length = ASN1_STRING_to_UTF8(&utf8, value)
        guard length >= 0, let utf8 else {
            ErrorQueue.clear()
            return nil
        }
        defer { CFerryOpenSSL_free(utf8) }
        return String(decoding: UnsafeBufferPointer(start: utf8, count: Int(length)), as: UTF8.self).printable
    }

    private func text(of name: OpaquePointer?) -> String {
        let bytes = bytesWritten { CFerryOpenSSL_print_name($0, name) }
        return String(decoding: bytes ?? [], as: UTF8.self).printable
    }

    private func bytes(of string: UnsafePointer<ASN1_STRING>) -> [UInt8] {
        Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string))))
    }

    /// Seconds since 1970.
    static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int? {
        guard let time, let epoch = OwnedString(ASN1_TIME_set(nil, 0)) else { return nil }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard ASN1_TIME_diff(&days, &seconds, epoch.pointer, time) == 1 else {
            ErrorQueue.clear()
            return nil
        }
        return Int(days) * 86_400 + Int(seconds)
    }

    private func addressText(_ bytes: ArraySlice<UInt8>) -> String {
        if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
        let groups = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map { index in
            String(UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1]), radix: 16)
        }
        return groups.joined(separator: ":")
    }
}
