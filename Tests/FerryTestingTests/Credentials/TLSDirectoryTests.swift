internal import FerryOpenSSL
internal import FerryTesting
internal import Foundation
internal import Testing

@Suite(.timeLimit(.minutes(10)))
struct TLSDirectoryTests {
    @Test func `a directory of credentials is made once and read again`() throws {
        try withTemporaryDirectory { parent in
            let directory = "\(parent)/a/b"
            let made = try TLSDirectory.open(directory)
            let read = try TLSDirectory.open(directory)
            #expect(made.server.summary == read.server.summary)
            #expect(made.client.summary == read.client.summary)
            let passphrase = try String(
                contentsOfFile: TLSDirectory.File.clientPassphrase.path(in: directory),
                encoding: .utf8
            )
            #expect(passphrase == "\(TLSDirectory.passphrase)\n")
            let archive = try TLSIdentity(
                pkcs12Path: TLSDirectory.File.clientArchive.path(in: directory),
                passphrase: TLSDirectory.passphrase
            )
            #expect(archive.summary == read.client.summary)
            let message = Array("header.claims".utf8)
            #expect(made.tokenKey.isValidSignature(try read.tokenKey.sign(message), for: message))
            #expect(try read.tokenKey.p8() == made.tokenKey.p8())
        }
    }

    @Test func `a directory gets a key of provider tokens when it has none, and keeps the one it has`() throws {
        try withTemporaryDirectory { directory in
            let path = TLSDirectory.File.tokenKey.path(in: directory)
            let key = try ES256Key.generate().p8()
            try Data(key).write(to: URL(filePath: path))
            let made = try TLSDirectory.open(directory)
            #expect(try made.tokenKey.p8() == key)
            try FileManager.default.removeItem(atPath: path)
            let mended = try TLSDirectory.open(directory)
            #expect(try mended.tokenKey.p8() != key)
            #expect(mended.server.summary == made.server.summary)
            #expect(try ES256Key(path: path).p8() == mended.tokenKey.p8())
        }
    }

    @Test func `the certificates of a directory name the key of their authority, which strict clients demand`() throws {
        try withTemporaryDirectory { directory in
            _ = try TLSDirectory.open(directory)
            for file in [TLSDirectory.File.server, .client] {
                let lines = try String(contentsOfFile: file.path(in: directory), encoding: .utf8).split(separator: "\n")
                let text = lines.dropFirst().prefix { !$0.hasPrefix("-----END") }.joined()
                let certificate = try #require(Data(base64Encoded: text))
                let authorityKeyIdentifier = Data([0x06, 0x03, 0x55, 0x1D, 0x23])  // the object identifier 2.5.29.35
                #expect(certificate.range(of: authorityKeyIdentifier) != nil)
            }
        }
    }

    @Test func `only the owner can read the keys of a directory`() throws {
        try withTemporaryDirectory { directory in
            _ = try TLSDirectory.open(directory)
            for file in [TLSDirectory.File.serverKey, .clientKey, .clientArchive, .tokenKey] {
                let attributes = try FileManager.default.attributesOfItem(atPath: file.path(in: directory))
                #expect(attributes[.posixPermissions] as? Int == 0o600)
            }
        }
    }

    @Test func `a directory is not mended when a part of it is missing`() throws {
        try withTemporaryDirectory { directory in
            _ = try TLSDirectory.open(directory)
            try FileManager.default.removeItem(atPath: TLSDirectory.File.client.path(in: directory))
            let error = #expect(throws: TLSDirectory.IncompleteError.self) { try TLSDirectory.open(directory) }
            #expect(error?.missing == [.client])
        }
    }

    @Test func `the credentials of a directory serve a connection`() async throws {
        let directory = temporaryPath()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        _ = try TLSDirectory.open(directory)
        let credentials = try TLSDirectory.open(directory)
        let gateway = try await SimulatedGateway.start(.init(credentials: credentials))
        let client = try await RawClient.connect(to: gateway, credentials)
        client.send(frames(1...3))
        client.finish()
        #expect(try await client.end().wasOrderly)
        #expect(gateway.counts.accepted == 3)
        await gateway.stop()
    }
}
