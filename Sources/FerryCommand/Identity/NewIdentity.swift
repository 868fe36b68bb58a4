internal import Ferry
internal import FerryCore
internal import FerryOpenSSL

/// New certificates for a gateway and its client, and a configuration to begin with.
struct NewIdentity {
    /// Apple's host names of the binary protocol. A client that is sent to the gateway by its resolver still asks for
    /// them.
    static let appleNames = [
        "gateway.push.apple.com", "gateway.sandbox.push.apple.com",
        "feedback.push.apple.com", "feedback.sandbox.push.apple.com",
    ]
    /// The address on which the gateway listens if no other host was given.
    static let loopback = "127.0.0.1"
    private static let localNames: [CertificateName] = [.dns("localhost"), .ip(Self.loopback), .ip("::1")]

    private let topic: String
    private let authority: ThrowAwayCA
    private let server: TLSIdentity
    private let client: TLSIdentity
    /// Whether clients on other machines are expected.
    private let servesOthers: Bool

    /// Makes the keys, which takes some 100 ms for each.
    ///
    /// - Parameters:
    ///   - names: the names of the gateway, besides Apple's and those of this machine.
    ///   - days: the period of validity.
    /// - Throws: `TLSError` with `internalFailure`.
    init(topic: String, names: [CertificateName], days: Int) throws(TLSError) {
        // Old clients know neither elliptic curves nor signatures with anything newer than SHA-256.
        let key = KeyKind.rsa2048
        let own = names.filter { !Self.localNames.contains($0) }
        var all: [CertificateName] = []
        for name in own + Self.appleNames.map(CertificateName.dns) + Self.localNames where !all.contains(name) {
            all.append(name)
        }
        self.topic = topic
        self.servesOthers = !own.isEmpty
        // Each authority has its own name. With equal names, a client that trusts two would try the wrong one.
        let number = String(UInt32.random(in: .min ... .max), radix: 16)
        self.authority = try ThrowAwayCA(
            name: "Ferry private authority \(number)",
            key: key,
            validity: .days(days),
            isStrict: true
        )
        self.server = try self.authority.server(
            dnsNames: all.compactMap { if case .dns(let name) = $0 { name } else { nil } },
            ipAddresses: all.compactMap { if case .ip(let address) = $0 { address } else { nil } },
            key: key,
            validity: .days(days)
        )
        self.client = try self.authority.client(topic: topic, key: key, validity: .days(days))
    }

    /// Returns a passphrase of 128 random bits.
    static func makePassphrase() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        .joined()
    }

    /// Returns the bytes of each file.
    ///
    /// - Parameters:
    ///   - passphrase: the passphrase of the archives.
    ///   - isNew: whether the passphrase was made here, and so needs a file of its own.
    /// - Throws: `TLSError` with `internalFailure`.
    func contents(passphrase: String, isNew: Bool) throws(TLSError) -> [(file: IdentityFiles.File, bytes: [UInt8])] {
        let (certificate, key) = (self.client.certificateChainPEM, try self.client.privateKeyPEM())
        var contents: [(IdentityFiles.File, [UInt8])] = [
            (.ca, self.authority.certificatePEM),
            (.server, self.server.certificateChainPEM),
            (.serverKey, try self.server.privateKeyPEM()),
            (.client, certificate),
            (.clientKey, key),
            (.clientCombined, certificate + key),
            (.clientArchive, try self.client.pkcs12(passphrase: passphrase)),
            (.clientLegacyArchive, try self.client.pkcs12(passphrase: passphrase, encryption: .tripleDES)),
        ]
        if isNew { contents.append((.clientPassphrase, Array("\(passphrase)\n".utf8))) }
        contents.append((.configuration, Array(self.configuration.utf8)))
        return contents
    }

    /// A configuration of `ferry gateway`. Its placeholders are refused until they are filled in.
    private var configuration: String {
        let topic =
            (try? JSONFragment(encoding: self.topic)).map { String(decoding: $0.bytes, as: UTF8.self) } ?? "\"\""
        return """
            {
              "listen": {
                "host": "\(self.servesOthers ? "0.0.0.0" : Self.loopback)", "port": \(BinaryConfiguration.defaultPort), \
                "feedbackPort": \(FeedbackConfiguration.defaultPort),
                "cert": "\(IdentityFiles.File.server.rawValue)", "key": "\(IdentityFiles.File.serverKey.rawValue)"
              },
              "upstreams": {
                "apns": {"p8": "FILL-IN.p8", "keyID": "FILL-IN", "teamID": "FILL-IN"}
              },
              "clients": [
                {"name": \(topic), "cert": "\(IdentityFiles.File.client.rawValue)", "topics": [\(topic)]}
              ],
              "rejections": "rejections.jsonl",
              "store": {"path": "gateway.db"}
            }

            """
    }
}
