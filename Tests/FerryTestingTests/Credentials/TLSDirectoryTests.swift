internal import FerryOpenSSL
internal import FerryTesting
internal import Foundation
internal import Testing

@Suite("A directory of test credentials", .timeLimit(.minutes(5)))
struct TLSDirectoryTests {
    @Test("is made once and read again")
    func madeOnce() throws {
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
        }
    }

    @Test("keeps its keys from others")
    func permissions() throws {
        try withTemporaryDirectory { directory in
            _ = try TLSDirectory.open(directory)
            for file in [TLSDirectory.File.serverKey, .clientKey, .clientArchive] {
                let attributes = try FileManager.default.attributesOfItem(atPath: file.path(in: directory))
                #expect(attributes[.posixPermissions] as? Int == 0o600)
            }
        }
    }

    @Test("is not mended when a part of it is missing")
    func incomplete() throws {
        try withTemporaryDirectory { directory in
            _ = try TLSDirectory.open(directory)
            try FileManager.default.removeItem(atPath: TLSDirectory.File.client.path(in: directory))
            let error = #expect(throws: TLSDirectory.IncompleteError.self) { try TLSDirectory.open(directory) }
            #expect(error?.missing == [.client])
        }
    }

    @Test("is good for a connection")
    func connects() async throws {
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
