@testable import FerryOpenSSL
import Testing

/// Tests of the places where the system's certificate authorities are.
struct SystemAuthoritiesTests {
    @Test func `without a file or a hashed name in a directory no authority is installed, and the sentence says where`()
        throws
    {
        let directory = try TemporaryDirectory()
        _ = try directory.write("README", Array("x".utf8))
        let none = SystemAuthorities(file: directory.path("cert.pem"), directories: [directory.path("")])
        #expect(!none.areInstalled)
        #expect(none.fault.code == .invalidConfiguration)
        #expect(none.fault.description.contains(directory.path("cert.pem")))
        #expect(none.fault.description.contains("install the package ca-certificates"))
        _ = try directory.write("3513523f.0", Array("x".utf8))
        #expect(none.areInstalled)
        #expect(SystemAuthorities(file: directory.path("README"), directories: []).areInstalled)
        _ = try directory.write("empty.pem", [])
        #expect(!SystemAuthorities(file: directory.path("empty.pem"), directories: []).areInstalled)
    }

    @Test func `the first bundle that exists is read, unless OpenSSL's own places have its authorities`() throws {
        let directory = try TemporaryDirectory()
        let absent = directory.path("absent.pem")
        let bytes = Array("x".utf8)
        let debian = SystemAuthorities.Bundle(path: try directory.write("debian.crt", bytes), isAlsoHashed: true)
        let rhel = SystemAuthorities.Bundle(path: try directory.write("rhel.crt", bytes), isAlsoHashed: false)
        let none = SystemAuthorities.Bundle(path: absent, isAlsoHashed: false)
        func chosen(_ bundles: [SystemAuthorities.Bundle], file: String? = nil) -> String? {
            let places = SystemAuthorities(file: file ?? absent, directories: [directory.path("")], bundles: bundles)
            #expect(places.areInstalled || places.bundle == nil)
            return places.bundle
        }
        #expect(chosen([]) == nil)
        #expect(chosen([none]) == nil)
        #expect(chosen([none, debian, rhel]) == debian.path)
        #expect(chosen([rhel, debian]) == rhel.path)
        #expect(chosen([rhel], file: debian.path) == nil)
        _ = try directory.write("3513523f.0", bytes)
        #expect(chosen([none, debian, rhel]) == nil)
        #expect(chosen([none, rhel]) == rhel.path)
    }

    @Test func `the bundles of Debian, RHEL, SUSE and Alpine are looked for, and the sentence names each place once`() {
        let paths = SystemAuthorities.bundles.map(\.path)
        let distributions = [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
            "/etc/ssl/cert.pem",
        ]
        #expect(paths == distributions)
        let portable = SystemAuthorities(
            file: "/etc/ssl/cert.pem",
            directories: ["/etc/ssl/certs"],
            bundles: SystemAuthorities.bundles
        )
        let places =
            "(looked in /etc/ssl/cert.pem, /etc/ssl/certs, /etc/ssl/certs/ca-certificates.crt, "
            + "/etc/pki/tls/certs/ca-bundle.crt and /etc/ssl/ca-bundle.pem; SSL_CERT_FILE and SSL_CERT_DIR are not set)"
        #expect(portable.fault.description.contains(places))
    }

    @Test func `without a variable OpenSSL's places and all bundles are looked in, and the sentence names each`() {
        let places = SystemAuthorities { _ in nil }
        #expect(places.bundles == SystemAuthorities.bundles)
        #expect(!places.file.isEmpty && !places.directories.isEmpty)
        for path in [places.file] + places.directories + places.bundles.map(\.path) {
            #expect(places.fault.description.contains(path))
        }
        #expect(places.fault.description.contains("; SSL_CERT_FILE and SSL_CERT_DIR are not set)"))
    }

    @Test(
        arguments: [
            (
                ["SSL_CERT_FILE": "/a/b.pem", "SSL_CERT_DIR": "/c:/d"],
                "(looked in /a/b.pem, /c and /d, because SSL_CERT_FILE and SSL_CERT_DIR are set)",
                "correct or unset SSL_CERT_FILE and SSL_CERT_DIR, or name"
            ),
            (
                ["SSL_CERT_FILE": "/a/b.pem"], "(looked in /a/b.pem and DIRECTORY, because SSL_CERT_FILE is set)",
                "correct or unset SSL_CERT_FILE, or name"
            ),
            (
                ["SSL_CERT_DIR": "/c"], "(looked in FILE and /c, because SSL_CERT_DIR is set)",
                "correct or unset SSL_CERT_DIR, or name"
            ),
            (
                ["SSL_CERT_FILE": "", "SSL_CERT_DIR": ""],
                "(looked nowhere, because SSL_CERT_FILE and SSL_CERT_DIR are set)",
                "correct or unset SSL_CERT_FILE and SSL_CERT_DIR, or name"
            ),
        ]
    ) func `a variable replaces its place and the bundles, and the sentence names it`(
        environment: [String: String],
        finding: String,
        cure: String
    ) {
        let usual = SystemAuthorities { _ in nil }
        let places = SystemAuthorities { environment[$0] }
        #expect(places.bundles.isEmpty)
        let expected = finding.replacing("FILE and /c", with: "\(usual.file) and /c")
            .replacing("DIRECTORY", with: usual.directories.joined(separator: ", "))
        #expect(places.fault.description.contains("No certificate authorities were found \(expected)"))
        #expect(places.fault.description.contains(cure))
    }

    @Test func `a server is trusted whose authority is in a bundle, and a bundle without certificates is named`() throws
    {
        let ca = try ThrowAwayCA()
        let directory = try TemporaryDirectory()
        func client(bundle: [UInt8]) throws -> TLSContext {
            // OpenSSL asks one authority of a name only, so this one has another.
            let context = try TLSContext(client: .init(trustRoots: ThrowAwayCA(name: "Another CA").trustRoots))
            let path = try directory.write("bundle.crt", bundle)
            try SystemAuthorities(
                file: directory.path("absent.pem"),
                directories: [],
                bundles: [.init(path: path, isAlsoHashed: false)]
            ).install(in: context.handle)
            return context
        }
        let server = try TLSContext(server: .init(identity: ca.server()))
        var pair = try EnginePair(client: client(bundle: ca.certificatePEM), server: server, host: "localhost")
        pair.run()
        #expect(pair.clientLog.order == ["handshake"])
        let error = #expect(throws: TLSError.self) { _ = try client(bundle: Array("no certificate".utf8)) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.description.contains(directory.path("bundle.crt")) == true)
    }

    @Test func `an archive in place of certificates is named, with advice`() throws {
        let archive = try ThrowAwayCA().client().pkcs12(passphrase: "secret")
        let error = #expect(throws: TLSError.self) {
            try TLSContext(client: .init(trustRoots: .pem(archive)))
        }
        #expect(
            error?.description.contains("is a PKCS#12 archive and not a certificate: take its certificates out") == true
        )
    }
}
