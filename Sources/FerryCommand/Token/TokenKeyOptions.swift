internal import ArgumentParser
internal import Ferry
internal import FerryOpenSSL
internal import FerryOptions
internal import FerryTerminal

/// Options that name the key for signing provider tokens.
typealias TokenKeyOptions = OptionArguments<TokenKeySection>

enum TokenKeySection: OptionSection {
    static let arguments = OptionArgument.of(ProviderOption.tokenKey)

    static func validate(_ key: TokenKeyOptions) throws {
        if key.p8 == nil, !key.given.isEmpty {
            throw ValidationError("\(key.given.listed) \(key.given.count == 1 ? "needs" : "need") --p8.")
        }
    }
}

extension OptionArguments where Section == TokenKeySection {
    var p8: String? { self.text("p8") }
    var keyID: String? { self.text("key-id") }
    var teamID: String? { self.text("team-id") }

    /// Whether `--p8` names a key.
    var areGiven: Bool { self.p8 != nil }

    /// Checks that both identifiers are given if a key is named.
    func validateIdentifiers() throws {
        if self.areGiven, self.keyID == nil || self.teamID == nil {
            let missing = [("--key-id", self.keyID), ("--team-id", self.teamID)].filter { $1 == nil }.map(\.0)
            throw ValidationError("--p8 needs \(missing.listed).")
        }
    }

    /// Reads the key. Returns nil if no key was named.
    ///
    /// - Throws: ``CommandFailure`` with status 2 when the file cannot be read, is not a P-256 key, or an identifier
    ///   is malformed.
    func source() throws -> ProviderTokenSource? {
        guard let file = self.p8.map({ OptionFile("--p8", $0) }) else { return nil }
        do {
            let bytes = try file.bytes()
            file.warnIfOpen(bytes)
            let key = try ES256Key(p8: bytes, source: file.name)
            return try ProviderTokenSource(key: key, keyID: self.keyID ?? "", teamID: self.teamID ?? "")
        } catch let error as TLSError where error.code == .passphraseRequired {
            throw CommandFailure.usage("The key in \(file.name) is encrypted; a .p8 file is read without passphrase.")
        } catch {
            throw CommandFailure.usage("\(error)")
        }
    }
}
