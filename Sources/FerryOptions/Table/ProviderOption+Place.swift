/// The options of the server and of the credentials. Each list is a part of the command line's help.
extension ProviderOption {
    private static let isTo = "'to' names the host and the port"
    private static let systemDecides = "openssl.cnf of the system decides for a service"
    private static let isNotEncrypted = "the files of a service have no passphrase"

    package static let server: [ProviderOption] = [
        .init("to", .address, .both)
            .help("The server without https://, its port 1 to 65535; an IPv6 address in brackets.")
            .absent(in: .c, because: "'host' and 'port'").ofEachSide,
        .init("host", .text, .both).inNodeAPN("address").replaced(.namesServer)
            .absent(in: .commandLine, .gateway, because: Self.isTo),
        .init("port", .count(1...65_535), .both).inNodeAPN().replaced(.ofServer)
            .absent(in: .commandLine, .gateway, because: Self.isTo),
        .init("production", .flag, [.http2]).inNodeAPN().replaced(.namesServer)
            .help("Use Apple's server for production. It speaks HTTP/2; Apple switched the others off in 2021.")
            .absent(in: .gateway, because: "an upstream without 'sandbox' is in production"),
        .init("sandbox", .flag, [.http2])
            .help("Use Apple's server for development. It speaks HTTP/2; Apple switched the others off in 2021.")
            .absent(in: .c, because: "'production' is false"),
        .init("ca", .file, .both).inNodeAPN().ofEachSide
            .help("Who may vouch for the server, in PEM form, if not the system's."),
        .init("serverName", .text, .both).replaced(.ofServer)
            .help("The name the server's certificate must be for, if not its host.")
            .absent(in: .gateway, because: "the host of 'to' is the name").ofEachSide,
        .init("rejectUnauthorized", .flag, .both).inNodeAPN()
            .absent(in: .commandLine, .gateway, because: "an administrator has 'ca'; it is for tests of programs"),
        .init("tlsMax", .choice(["1.2", "1.3"]), .both).by(default: "1.2; 1.3 for HTTP/2")
            .help("The highest TLS version.").absent(in: .c, .gateway, because: Self.systemDecides),
        .init("tlsProfile", .choice(["modern", "legacy"]), .both).by(default: "modern")
            .help("What an old server is allowed: modern, what the system's policy does; legacy, TLS 1.0 and 1.1,")
            .help("SHA-1 and any cipher suite, too.")
            .absent(in: .c, .gateway, because: Self.systemDecides),
    ]

    package static let credentials: [ProviderOption] = [
        .init("cert", .file, .both).help("The certificate with its chain, in PEM or DER form.")
            .inNodeAPN().replaced(.namesCredentials).ofEachSide,
        .init("key", .file, .both).help("Its private key; without it, the key stands in the file of --cert.")
            .inNodeAPN().replaced(.ofCredentials).ofEachSide,
        .init("pfx", .file, .both).help("Certificate and key in one PKCS#12 file.").named("p12", in: .commandLine)
            .inNodeAPN().replaced(.namesCredentials).absent(in: .gateway, because: Self.isNotEncrypted).ofEachSide,
        .init("passphrase", .secret, .both).inNodeAPN().replaced(.ofCredentials)
            .absent(in: .commandLine, because: "other users see it: --passphrase-file")
            .absent(in: .gateway, because: Self.isNotEncrypted),
        .init("passphraseFile", .file, .both).help("A file whose first line opens --key or --p12.").ofEachSide
            .absent(in: .c, because: "'passphrase': a program reads its own files")
            .absent(in: .gateway, because: Self.isNotEncrypted),
    ]

    package static let tokenKey: [ProviderOption] = [
        .init("p8", .file, [.http2]).help("The key of provider tokens: the .p8 file that Apple issued.")
            .replaced(.namesCredentials),
        .init("keyId", .text, [.http2]).help("The key's identifier, 10 capital letters and digits.")
            .named("keyID", in: .gateway).replaced(.ofCredentials),
        .init("teamId", .text, [.http2]).help("The team's identifier, 10 capital letters and digits.")
            .named("teamID", in: .gateway).replaced(.ofCredentials),
    ]

    package static let tokenFile: [ProviderOption] = [
        .init("tokenFile", .file, [.http2])
            .absent(in: .commandLine, .gateway, because: "one process sends, and has one token"),
        .init("providerTokenFile", .file, [.http2])
            .help("A file with a provider token that is made elsewhere; it is read again when it changes.")
            .absent(in: .c, .gateway, because: "a program that makes tokens links the library in Swift"),
    ]

    package static let proxy: [ProviderOption] = [
        .init("proxy", .address, [.http2]).help("An HTTP proxy that connections go through, by CONNECT.")
            .by(default: "HTTPS_PROXY, unless NO_PROXY has the host"),
        .init("proxyUser", .text, [.http2]).help("Who you are at the proxy, by Basic authentication."),
        .init("proxyPasswordFile", .file, [.http2]).help("A file whose first line is the password for the proxy."),
    ]
}

extension Set<ProviderOption.Owner> {
    static let both: Self = [.binary, .http2]
}
