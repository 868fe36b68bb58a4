internal import ArgumentParser
internal import FerryAppStore
internal import FerryOpenSSL
internal import FerryTerminal

/// An app from an option: `com.example.app`, or `com.example.app:1234567890` with Apple's number of the app.
struct AppArgument: ExpressibleByArgument, Equatable {
    var app: AppStoreApp
    /// Whether the text behind the colon is no number.
    private var hasBadNumber = false

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let bundleID = String(parts[0])
        let isBundleID = bundleID.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isBundleID, 1...155 ~= bundleID.utf8.count else { return nil }
        self.app = AppStoreApp(bundleID: bundleID)
        guard parts.count == 2 else { return }
        // Every positive number of the type is taken. 0 is no app.
        self.app.appAppleID = Int64(parts[1]).flatMap { $0 > 0 ? $0 : nil }
        self.hasBadNumber = self.app.appAppleID == nil
    }

    /// Refuses a bad number with the reason. The initializer can only refuse.
    func validate() throws {
        guard self.hasBadNumber else { return }
        throw ValidationError(
            "--app: behind the colon stands the app's number in App Store Connect (\"Apple ID\"), digits such as 1234567890."
        )
    }

    static func == (left: Self, right: Self) -> Bool { left.app == right.app }
}

/// The environments of the App Store that are served.
enum EnvironmentArgument: String, ExpressibleByArgument, CaseIterable {
    case production, sandbox, both

    var environments: Set<AppStoreEnvironment> {
        switch self {
        case .production: [.production]
        case .sandbox: [.sandbox]
        case .both: [.production, .sandbox]
        }
    }
}

/// The options that decide which notifications are genuine.
struct AppStoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            An app: its bundle ID, and after a colon its number in App Store Connect ("Apple ID"), which is then compared, \
            too. May be repeated.
            """,
            valueName: "bundle[:number]"
        )
    )
    var app: [AppArgument] = []

    @Option(help: "The environments: production, sandbox or both.")
    var environment = EnvironmentArgument.both

    @Option(
        help: ArgumentHelp(
            "Roots to trust in place of Apple's, in PEM form: those of a simulated App Store.",
            valueName: "file"
        )
    )
    var root: String?

    @Option(
        help: ArgumentHelp(
            """
            A file with the shared secret, one on each line if there are several: takes notifications of version 1, too, \
            which Apple deprecated.
            """,
            valueName: "file"
        )
    )
    var sharedSecretFile: String?

    @Flag(
        help: "Ask Apple whether it revoked the certificates (OCSP). Without an answer, the post is answered with 503."
    )
    var checkRevocation = false

    func validate() throws {
        for app in self.app { try app.validate() }
    }

    func configuration() throws(CommandFailure) -> AppStoreVerifier.Configuration {
        var configuration = AppStoreVerifier.Configuration(apps: self.app.map(\.app))
        configuration.environments = self.environment.environments
        configuration.checksRevocation = self.checkRevocation
        if let root {
            do {
                configuration.trustRoots = .pem(try OptionFile("--root", root).bytes())
            } catch {
                throw CommandFailure.usage(error.description)
            }
        }
        if let sharedSecretFile {
            configuration.sharedSecrets = try SecretLines.read("--shared-secret-file", sharedSecretFile)
        }
        return configuration
    }

    func verifier() throws(CommandFailure) -> AppStoreVerifier {
        let configuration = try self.configuration()
        do {
            return try AppStoreVerifier(configuration)
        } catch {
            throw CommandFailure.usage("--root: \(error.description)")
        }
    }
}

/// A file of secrets, one on each line.
enum SecretLines {
    static func read(_ option: String, _ path: String) throws(CommandFailure) -> [String] {
        let file = OptionFile(option, path)
        file.warnIfOpen(holding: "a secret")
        let text: String
        do {
            text = String(decoding: try file.bytes(), as: UTF8.self)
        } catch {
            throw CommandFailure.usage(error.description)
        }
        let lines = text.split { $0.isNewline || $0.isWhitespace }.map(String.init)
        guard !lines.isEmpty else { throw CommandFailure.usage("The file of \(option) is empty.") }
        return lines
    }
}
