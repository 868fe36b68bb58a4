internal import FerryCore
package import FerryOpenSSL

/// A file that an option names.
package struct OptionFile: Hashable, Sendable {
    /// The option, such as `--key`, or the option of a configuration, such as `key`.
    package var option: String
    /// The path as it was given. By mistake, it may be the secret itself.
    package var path: String

    package init(_ option: String, _ path: String) {
        self.option = option
        self.path = path
    }

    /// The file's name in messages.
    package var name: String { FileName(self.path).words(option: self.option) }

    /// The size limit in bytes, far above any file of certificates.
    private static let longest = 16 << 20

    /// Reads the whole file. A pipe, as a shell makes for `<(…)`, can be read only once.
    ///
    /// - Throws: `TLSError` with `fileNotFound` or `fileUnreadable`.
    package func bytes() throws(TLSError) -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor.contents(of: self.path, limit: Self.longest)
        } catch {
            // The reason is shown without the name, because the name may be a secret.
            let reason = FileFailure(reason: error.reason)
            throw error.isMissing
                ? self.error(.fileNotFound, "does not exist")
                : self.error(.fileUnreadable, "cannot be read (\(reason))")
        }
        guard bytes.count <= Self.longest else { throw self.error(.fileUnreadable, "has more than 16 MiB") }
        return bytes
    }

    private func error(_ code: TLSError.Code, _ predicate: String) -> TLSError {
        TLSError(code, FileName(self.path).sentence(predicate, option: self.option))
    }

    /// Whether the file can be read more than once.
    package var isRegular: Bool { FileIdentity(path: self.path)?.isRegular ?? false }

    /// Returns the first line of a file that holds a secret.
    ///
    /// - Throws: ``CommandFailure`` with status 2 when the file cannot be read.
    package func firstLine() throws(CommandFailure) -> String {
        do {
            let text = String(decoding: try self.bytes(), as: UTF8.self)
            return text.split(omittingEmptySubsequences: false) { $0.isNewline }.first.map(String.init) ?? ""
        } catch {
            throw CommandFailure.usage(error.description)
        }
    }

    /// Warns on standard error if others may read or change the file.
    ///
    /// - Parameter secret: the secret in the file, such as "a private key".
    package func warnIfOpen(holding secret: String, say: (LogMessage) -> Void = { Console.error($0) }) {
        guard let mode = FilePermissions.open(self.path) else { return }
        let sentence = FilePermissions.sentence(self.name, holds: secret, mode)
        say(
            .warning(
                ServerLogEvent.fileOpen,
                "\(sentence); \(FilePermissions.cure(self.name, mode))",
                [.file: .text(self.name)]
            )
        )
    }

    /// Calls ``warnIfOpen(holding:say:)`` if `bytes`, the content of the file, contain a private key.
    package func warnIfOpen(_ bytes: [UInt8], say: (LogMessage) -> Void = { Console.error($0) }) {
        if CredentialForm(bytes).holdsPrivateKey { self.warnIfOpen(holding: "a private key", say: say) }
    }
}

extension CredentialForm {
    package var holdsPrivateKey: Bool {
        switch self {
        case .privateKey, .certificateAndKey, .pkcs12, .openSSHKey, .javaKeyStore: true
        case .certificate, .certificateRequest, .publicKey, .empty, .unknown: false
        }
    }
}
