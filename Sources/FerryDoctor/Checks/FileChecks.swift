internal import Ferry
internal import FerryOpenSSL
internal import FerryTerminal

/// The checks of a file: it exists, is of the right kind, and is protected from other users.
enum FileChecks {
    /// Returns the problems of a file. The list is empty if the file is in order.
    static func findings(_ file: CredentialFile) -> [Finding] {
        switch file.form {
        case .failure(let error): [self.unread(file, error)]
        case .success(let form):
            [
                self.kind(file, form),
                form.holdsPrivateKey ? self.openness(file.name, "a private key", file.openPermissions) : nil,
            ]
            .compactMap { $0 }
        }
    }

    private static func unread(_ file: CredentialFile, _ error: TLSError) -> Finding {
        error.code == .fileNotFound
            ? .fault(
                .file,
                .fileMissing,
                error.description,
                cure: "correct the path behind \(file.option.rawValue)"
            )
            : .fault(
                .file,
                .fileUnreadable,
                error.description,
                cure: "give a file that this user may read"
            )
    }

    /// Returns the problems of a passphrase file.
    static func passphraseFile(_ file: OptionFile) -> [Finding] {
        [self.openness(file.name, "a passphrase", FilePermissions.open(file.path))].compactMap { $0 }
    }

    /// - Parameter mode: the permission bits, if other users may read or change the file; otherwise nil.
    private static func openness(_ name: String, _ secret: String, _ mode: Int?) -> Finding? {
        guard let mode else { return nil }
        return .warning(
            .file,
            .permissionsOpen,
            "\(FilePermissions.sentence(name, holds: secret, mode)).",
            cure: FilePermissions.cure(name, mode)
        )
    }

    private static func kind(_ file: CredentialFile, _ form: CredentialForm) -> Finding? {
        let isRight =
            switch file.option {
            case .cert: [.certificate, .certificateAndKey].contains(form)
            case .key: [.privateKey, .certificateAndKey].contains(form)
            case .p12: form == .pkcs12
            case .p8: form == .privateKey
            }
        guard !isRight else { return nil }
        return .fault(
            .file,
            .wrongKindOfFile,
            "\(file.name) is no file for \(file.option.rawValue): it \(form.predicate).",
            cure: self.cure(form, file)
        )
    }

    private static func cure(_ form: CredentialForm, _ file: CredentialFile) -> String {
        switch form {
        case .certificate: "give it as --cert, and its key as --key"
        case .certificateAndKey: "give it as --cert"
        case .privateKey:
            "give it as --key with its certificate as --cert; if it is Apple's key for provider tokens, as --p8"
        case .pkcs12: "give it as --p12"
        case .certificateRequest:
            "hand it in (Apple: Certificates, Identifiers & Profiles) and give the certificate that comes back as --cert"
        case .publicKey: "give the private one that belongs to it"
        case .openSSHKey:
            "ssh-keygen -p -m PKCS8 -f \(file.name) turns it into PEM, if it is the right key at all"
        case .javaKeyStore:
            "keytool -importkeystore -srckeystore \(file.name) -destkeystore new.p12 -deststoretype pkcs12, then give "
                + "--p12 new.p12"
        case .empty: "export it again"
        case .unknown: "export it again, or name the right file"
        }
    }
}
