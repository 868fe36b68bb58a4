import FerryOpenSSL
import Foundation

/// Makes certificates with any extensions, using the `openssl` program.
struct CertificateWorkshop {
    struct Certificate {
        var path: String
        var key: String
    }

    let directory: TemporaryDirectory

    /// Makes a self-signed certificate.
    func root(_ name: String, _ extensions: [String] = []) throws -> Certificate {
        let made = paths(name)
        try OpenSSLTool.run(
            ["req", "-x509", "-nodes", "-days", "10", "-subj", "/CN=\(name)", "-keyout", made.key, "-out", made.path]
                + Self.newKey + extensions.flatMap { ["-addext", $0] }
        )
        return made
    }

    /// Makes a certificate that `issuer` signs.
    func issue(_ name: String, by issuer: Certificate, _ extensions: [String]) throws -> Certificate {
        let made = paths(name)
        let request = directory.path("\(name).csr")
        try OpenSSLTool.run(
            ["req", "-nodes", "-subj", "/CN=\(name)", "-keyout", made.key, "-out", request] + Self.newKey
        )
        let file = try directory.write("\(name).cnf", Array(extensions.joined(separator: "\n").utf8))
        try OpenSSLTool.run(
            ["x509", "-req", "-in", request, "-CA", issuer.path, "-CAkey", issuer.key, "-days", "10"]
                + ["-set_serial", "\(UInt32.random(in: 1 ... .max))", "-extfile", file, "-out", made.path]
        )
        return made
    }

    func identity(_ own: Certificate, chain: [Certificate] = []) throws -> TLSIdentity {
        let pem = try ([own] + chain).flatMap { try Array(Data(contentsOf: URL(filePath: $0.path))) }
        return try TLSIdentity(
            certificateChain: pem,
            privateKey: Array(Data(contentsOf: URL(filePath: own.key)))
        )
    }

    private func paths(_ name: String) -> Certificate {
        Certificate(path: directory.path("\(name).pem"), key: directory.path("\(name).key"))
    }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
}
