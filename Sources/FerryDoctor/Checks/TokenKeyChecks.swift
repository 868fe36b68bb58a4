internal import Ferry
internal import FerryHTTP2
internal import FerryOpenSSL

/// The checks of a key for provider tokens: it can sign, and its identifiers are well-formed.
enum TokenKeyChecks {
    private static let fresh =
        "give the .p8 file that Apple issued (Keys, with Apple Push Notifications service enabled)"

    static func findings(_ facts: TokenKeyFacts) -> [Finding] {
        let file = FileChecks.findings(facts.file)
        let ids = [
            self.id(facts.keyID, .keyID, "--key-id", "the key's page"),
            self.id(facts.teamID, .teamID, "--team-id", "the membership page"),
            self.fileName(facts),
        ]
        .compactMap { $0 }
        guard !file.contains(where: { $0.severity == .fault }) else { return file + ids }
        return file + self.key(facts) + ids
    }

    private static func key(_ facts: TokenKeyFacts) -> [Finding] {
        let name = facts.file.name
        if let fault = facts.fault { return [self.unusable(fault, name)] }
        guard facts.signs else {
            return [
                .fault(
                    .tokenKey,
                    .doesNotSign,
                    "What \(name) signs does not verify with its own key.",
                    cure: self.fresh
                )
            ]
        }
        let signing = Finding.ok(.tokenKey, "\(name) is a P-256 key; a sample was signed and verified (ES256).")
        guard !facts.isPKCS8 else { return [signing] }
        return [
            signing,
            .warning(
                .tokenKey,
                .notPKCS8,
                "\(name) is not in the form PKCS#8, as Apple issues keys; other tools may not read it.",
                cure: "openssl pkcs8 -topk8 -nocrypt -in \(name) -out key.p8"
            ),
        ]
    }

    private static func unusable(_ error: TLSError, _ name: String) -> Finding {
        switch error.code {
        case .unsupportedKey:
            .fault(
                .tokenKey,
                .notP256,
                "The key in \(name) is not on the curve P-256, which provider tokens need (ES256).",
                cure: self.fresh
            )
        case .passphraseRequired:
            .fault(
                .tokenKey,
                .passphraseMissing,
                "The key in \(name) is encrypted; a .p8 file is read without passphrase.",
                cure: "openssl pkcs8 -in \(name) -out key.p8, and chmod 600 key.p8"
            )
        default:
            .fault(.tokenKey, .damaged, "The key in \(name) is damaged.", cure: "\(self.fresh), copied as it was")
        }
    }

    private static func id(_ id: String?, _ check: Finding.Check, _ option: String, _ place: String) -> Finding? {
        guard let id else { return nil }
        guard let fault = DeveloperIdentifier.fault(in: id) else {
            let length = DeveloperIdentifier.length
            return .ok(
                check,
                "\(option) has \(length) letters and digits, as it should; only APNs knows if it is right."
            )
        }
        return .fault(
            check,
            .malformedID,
            "\(option) \(fault).",
            cure: "copy it from \(place) of the developer account; it is not the bundle ID, nor the name"
        )
    }

    /// Compares --key-id with the file's name. Apple puts the key ID into that name: AuthKey_ABCDE12345.p8.
    private static func fileName(_ facts: TokenKeyFacts) -> Finding? {
        let name = facts.file.path?.split(separator: "/").last ?? ""
        guard let keyID = facts.keyID, name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else { return nil }
        let named = name.dropFirst("AuthKey_".count).dropLast(".p8".count)
        guard DeveloperIdentifier(String(named)) != nil, named != keyID else { return nil }
        return .warning(
            .keyID,
            .otherKeyID,
            "The file's name says that its key ID is \(named), and --key-id says something else.",
            cure: "give --key-id \(named), unless the file was renamed; do not take the team ID for it"
        )
    }
}
