import FerryCore
@testable import FerryOpenSSL
import Foundation
import Testing

struct PEMTextTests {
    /// How people hold a key or a certificate: what becomes of a file in an environment variable, in JSON, or in a secret store.
    enum Form: CaseIterable, CustomTestStringConvertible {
        case oneLine, spaces, literalBreaks, literalReturns, bodyInOneLine, base64, base64InLines, indented, quoted
        case carriageReturns, marked

        var testDescription: String { "\(self)" }

        func of(_ pem: [UInt8]) -> [UInt8] {
            let text = String(decoding: pem, as: UTF8.self)
            let lines = text.split(separator: "\n").map(String.init)
            switch self {
            case .oneLine: return Array(lines.joined().utf8)
            case .spaces: return Array(lines.joined(separator: " ").utf8)
            case .literalBreaks: return Array(text.replacing("\n", with: #"\n"#).utf8)
            case .literalReturns: return Array(text.replacing("\n", with: #"\r\n"#).utf8)
            case .bodyInOneLine:
                let body = lines.dropFirst().dropLast().joined()
                return Array("\(lines[0])\n\(body)\n\(lines[lines.count - 1])".utf8)
            case .base64: return Array(Data(pem).base64EncodedString().utf8)
            case .base64InLines: return Array(Data(pem).base64EncodedString(options: .lineLength64Characters).utf8)
            case .indented: return Array(lines.map { "    \($0)\n" }.joined().utf8)
            case .quoted: return Array("\"\(text.replacing("\n", with: #"\n"#))\"\n".utf8)
            case .carriageReturns: return Array(text.replacing("\n", with: "\r\n").utf8)
            case .marked: return FileStart.byteOrderMark + pem
            }
        }
    }

    @Test(arguments: Form.allCases)
    func `a .p8 that lost its line breaks is read in every form, from memory and from a file`(form: Form) throws {
        let key = try ES256Key.generate()
        let text = try form.of(key.p8())
        #expect(try ES256Key(p8: text).p8() == key.p8())
        let directory = try TemporaryDirectory()
        #expect(try ES256Key(path: directory.write("AuthKey.p8", text)).p8() == key.p8())
    }

    @Test func `a .p8 without its first and last line is read`() throws {
        let key = try ES256Key.generate()
        let lines = try String(decoding: key.p8(), as: UTF8.self).split(separator: "\n")
        #expect(try ES256Key(p8: Array(lines.dropFirst().dropLast().joined(separator: "\n").utf8)).p8() == key.p8())
    }

    @Test(arguments: Form.allCases)
    func `a chain and an RSA key without line breaks are read in every form`(form: Form) throws {
        let identity = try ThrowAwayCA().client(key: .rsa2048)
        let read = try TLSIdentity(
            certificateChain: form.of(identity.certificateChainPEM),
            privateKey: form.of(identity.privateKeyPEM())
        )
        #expect(read.summary.fingerprintHex == identity.summary.fingerprintHex)
        let both = try TLSIdentity(
            certificateChain: form.of(identity.certificateChainPEM + identity.privateKeyPEM()),
            privateKey: form.of(identity.certificateChainPEM + identity.privateKeyPEM())
        )
        #expect(both.summary.fingerprintHex == identity.summary.fingerprintHex)
    }

    @Test(arguments: Form.allCases)
    func `an encrypted key is read in every form that keeps its lines apart`(form: Form) throws {
        let identity = try ThrowAwayCA().client()
        let read = try TLSIdentity(
            certificateChain: identity.certificateChainPEM,
            privateKey: form.of(identity.privateKeyPEM(passphrase: "secret")),
            passphrase: "secret"
        )
        #expect(read.summary.fingerprintHex == identity.summary.fingerprintHex)
    }

    @Test func `a damaged key stays damaged, and its error shows nothing of it`() throws {
        let text = try String(decoding: ES256Key.generate().p8(), as: UTF8.self)
        let middle = text.index(text.startIndex, offsetBy: 60)
        let cases = [
            text.replacingCharacters(in: middle...middle, with: "!"),
            text.replacing("\n", with: " ").replacing("M", with: "!"),
            String(text.prefix(100)), text.replacing("-----END", with: "----END"),
        ]
        for damaged in cases {
            let error = #expect(throws: TLSError.self) { try ES256Key(p8: Array(damaged.utf8)) }
            #expect(error?.code == .malformed, "\(damaged)")
            #expect(error?.description.contains("MIG") == false)
        }
        let words = #expect(throws: TLSError.self) {
            try ES256Key(p8: Array(String(repeating: "no key ", count: 20).utf8))
        }
        #expect(words?.code == .noPrivateKey)
    }
}
