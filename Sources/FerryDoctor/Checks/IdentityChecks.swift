internal import Ferry
internal import FerryOpenSSL
internal import FerryTerminal

/// The checks of a certificate and its key: both are readable and belong together.
enum IdentityChecks {
    static func findings(_ facts: CertificateFacts) -> [Finding] {
        let files = facts.files.flatMap(FileChecks.findings)
        // A fault of a file already explains the missing identity.
        guard !files.contains(where: { $0.severity == .fault }) else { return files }
        switch facts.identity {
        case .failure(let error): return files + [self.unusable(error, facts)]
        case .success(let identity): return files + self.usable(identity, facts)
        }
    }

    private static func usable(_ identity: TLSIdentity, _ facts: CertificateFacts) -> [Finding] {
        var findings: [Finding] = []
        let kind = identity.summary.keyKind
        if let weakness = facts.weakness {
            let isWeak = weakness.code == .weakCredentials
            findings.append(
                .fault(
                    .key,
                    isWeak ? .weakKey : .unusable,
                    isWeak
                        ? "OpenSSL refuses the certificate or its key (\(kind)): too weak for its security level."
                        : "OpenSSL refuses certificate and key: \(weakness.description)",
                    cure:
                        "make a new key of RSA 2048 or P-256, and have a certificate issued for it with SHA-256; if the "
                        + "server takes no other than this one, \(ConnectionAdvice.giveLegacyProfile)"
                )
            )
        } else {
            findings.append(.ok(.key, "Certificate and private key belong together (\(kind))."))
        }
        if identity.neededLegacyProvider { findings.append(self.oldArchive(facts)) }
        return findings
    }

    private static func oldArchive(_ facts: CertificateFacts) -> Finding {
        .warning(
            .archive,
            .oldArchive,
            "\(self.keyName(facts)) is encrypted with algorithms as old as RC2-40, which only OpenSSL's legacy provider reads; "
                + "other machines and tools may not.",
            cure: self.conversion(facts)
        )
    }

    private static func conversion(_ facts: CertificateFacts) -> String {
        guard facts.isArchive else {
            return
                "convert the key: openssl pkey -provider legacy -provider default -aes256 -in \(self.keyName(facts)) "
                + "-out new-key.pem"
        }
        return
            "convert it: openssl pkcs12 -legacy -nodes -in \(self.name(facts)) -out push.pem, then give --cert push.pem; or "
            + "from that, openssl pkcs12 -export -in push.pem -out new.p12"
    }

    private static func name(_ facts: CertificateFacts) -> String { facts.files.first?.name ?? "" }

    private static func keyName(_ facts: CertificateFacts) -> String { facts.files.last?.name ?? "" }

    private static func unusable(_ error: TLSError, _ facts: CertificateFacts) -> Finding {
        let keyName = self.keyName(facts)
        switch error.code {
        case .noPrivateKey:
            return .fault(
                .key,
                .keyMissing,
                "\(keyName) holds no private key.",
                cure: facts.isArchive
                    ? "export the key together with the certificate (in the keychain: unfold the certificate, select both)"
                    : "name the file of the key with --key"
            )
        case .passphraseRequired:
            return .fault(
                .key,
                .passphraseMissing,
                "\(keyName) is encrypted, and no passphrase was given.",
                cure: ConnectionAdvice.givePassphrase
            )
        case .wrongPassphrase:
            return .fault(
                .key,
                .wrongPassphrase,
                "The passphrase does not open \(keyName).",
                cure:
                    "correct the first line of the file of --passphrase-file, without quotes or spaces around it; if the "
                    + "passphrase is lost, export again"
            )
        case .keyMismatch:
            return .fault(
                .key,
                .keyMismatch,
                "The private key in \(keyName) does not belong to the certificate in \(self.name(facts)).",
                cure:
                    "give the key that the certificate's request was made with, or have a certificate issued for this key"
            )
        case .severalPrivateKeys:
            return .fault(
                .key,
                .severalKeys,
                error.description,
                cure: facts.isArchive
                    ? "export one certificate and its key, and nothing else"
                    : "leave the key that prints what the certificate prints: openssl x509 -noout -pubkey -in "
                        + "\(self.name(facts)) | openssl pkey -pubin -outform DER | sha256sum"
            )
        case .legacyAlgorithm:
            return .fault(
                .archive,
                .oldArchiveUnreadable,
                "\(self.keyName(facts)) is encrypted with old algorithms, such as RC2-40, that OpenSSL cannot read here.",
                cure: "install OpenSSL's legacy provider (Debian: openssl-provider-legacy or libssl3), or export again "
                    + "with AES; where it is there, \(self.conversion(facts))"
            )
        case .noCertificate, .malformed:
            return .fault(
                .file,
                .damaged,
                "The certificate or the key in \(facts.files.map(\.name).listed) is damaged.",
                cure: "export or download it again, and copy it as a binary file"
            )
        default:
            return .fault(
                .key,
                .unusable,
                "Certificate and key cannot be used: \(error.description)",
                cure: "export them again"
            )
        }
    }
}
