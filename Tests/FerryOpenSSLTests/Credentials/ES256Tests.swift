import FerryOpenSSL
import Foundation
import Testing

struct ES256Tests {
    let message = Array("header.claims".utf8)

    @Test func `a signature has 64 bytes, and fits only its key and message`() throws {
        let key = try ES256Key.generate()
        let other = try ES256Key.generate()
        // Short integers must be padded. Among hundreds of signatures some have them.
        for _ in 0..<300 {
            let signature = try key.sign(message)
            #expect(signature.count == ES256Key.signatureLength)
            #expect(key.isValidSignature(signature, for: message))
        }
        var signature = try key.sign(message)
        #expect(!other.isValidSignature(signature, for: message))
        #expect(!key.isValidSignature(signature, for: message + [0]))
        #expect(!key.isValidSignature(Array(signature.dropLast()), for: message))
        #expect(!key.isValidSignature([UInt8](repeating: 0, count: 64), for: message))
        signature[10] ^= 1
        #expect(!key.isValidSignature(signature, for: message))
    }

    @Test func `a .p8 file is written and read`() throws {
        let directory = try TemporaryDirectory()
        let key = try ES256Key.generate()
        let path = try directory.write("AuthKey.p8", key.p8())
        let read = try ES256Key(path: path)
        #expect(key.isValidSignature(try read.sign(message), for: message))
        #expect(try read.p8() == key.p8())
    }

    @Test func `the openssl program accepts a signature`() throws {
        let directory = try TemporaryDirectory()
        let key = try ES256Key.generate()
        let keyPath = try directory.write("AuthKey.p8", key.p8())
        let messagePath = try directory.write("message", message)
        let raw = try key.sign(message)
        let signaturePath = try directory.write("signature", derSignature(raw))
        let publicPath = directory.path("public.pem")
        try OpenSSLTool.run(["pkey", "-in", keyPath, "-pubout", "-out", publicPath])
        try OpenSSLTool.run(["dgst", "-sha256", "-verify", publicPath, "-signature", signaturePath, messagePath])
    }

    @Test func `a key of another kind, an encrypted key and a missing key are refused with a reason`() throws {
        let rsa = try ThrowAwayCA().client(key: .rsa2048).privateKeyPEM()
        let error = #expect(throws: TLSError.self) { try ES256Key(p8: rsa) }
        #expect(error?.code == .unsupportedKey)
        let directory = try TemporaryDirectory()
        let p384 = directory.path("p384.pem")
        try OpenSSLTool.run(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384", "-out", p384])
        let curve = #expect(throws: TLSError.self) { try ES256Key(path: p384) }
        #expect(curve?.code == .unsupportedKey)
        let encrypted = try ThrowAwayCA().client().privateKeyPEM(passphrase: "secret")
        let locked = #expect(throws: TLSError.self) { try ES256Key(p8: encrypted) }
        #expect(locked?.code == .passphraseRequired)
        let empty = #expect(throws: TLSError.self) { try ES256Key(p8: []) }
        #expect(empty?.code == .noPrivateKey)
        let missing = #expect(throws: TLSError.self) { try ES256Key(path: directory.path("none.p8")) }
        #expect(missing?.code == .fileNotFound)
    }

    /// Encodes a raw signature in DER: SEQUENCE { INTEGER r, INTEGER s }
    private func derSignature(_ raw: [UInt8]) -> [UInt8] {
        func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
            return [2, UInt8(digits.count)] + digits
        }
        let body = integer(raw[..<32]) + integer(raw[32...])
        return [0x30, UInt8(body.count)] + body
    }
}
