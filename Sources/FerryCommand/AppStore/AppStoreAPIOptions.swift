internal import ArgumentParser
internal import FerryAppStore
internal import FerryHTTP1
internal import FerryOpenSSL
internal import FerryTerminal

/// The app and key for Apple's App Store Server API.
struct AppStoreAPIOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The app's bundle ID, and after a colon its number.", valueName: "bundle[:number]"))
    var app: AppArgument

    @Option(help: "The environment: production or sandbox.")
    var environment: Environment

    @Option(
        help: ArgumentHelp(
            "The key for in-app purchases, from App Store Connect: Users and Access, Integrations.",
            valueName: "file"
        )
    )
    var p8: String

    @Option(help: ArgumentHelp("The key's identifier.", valueName: "id"))
    var keyID: String

    @Option(help: ArgumentHelp("The issuer ID beside the key, a UUID.", valueName: "id"))
    var issuerID: String

    @Option(
        help: ArgumentHelp("Roots to trust in place of Apple's, in PEM form: a simulated App Store.", valueName: "file")
    )
    var root: String?

    @Option(help: ArgumentHelp("A server in place of Apple's: a simulated App Store.", valueName: "url"))
    var api: String?

    @Option(
        help: ArgumentHelp("The authorities that may sign the certificate of --api, in PEM form.", valueName: "file")
    )
    var ca: String?

    @OptionGroup(title: "Proxy")
    var proxy: ProxyOptions

    enum Environment: String, ExpressibleByArgument, CaseIterable {
        case production, sandbox

        var environment: AppStoreEnvironment { self == .production ? .production : .sandbox }
    }

    func validate() throws { try self.app.validate() }

    func verifier() throws(CommandFailure) -> AppStoreVerifier {
        var configuration = AppStoreVerifier.Configuration(apps: [self.app.app])
        configuration.environments = [self.environment.environment]
        do {
            if let root { configuration.trustRoots = .pem(try OptionFile("--root", root).bytes()) }
            return try AppStoreVerifier(configuration)
        } catch {
            throw CommandFailure.usage(error.description)
        }
    }

    func client(_ verifier: AppStoreVerifier) throws(CommandFailure) -> AppStoreServerClient {
        let file = OptionFile("--p8", self.p8)
        let key: ES256Key
        do {
            let bytes = try file.bytes()
            file.warnIfOpen(bytes)
            key = try ES256Key(p8: bytes, source: file.name)
        } catch {
            throw CommandFailure.usage(error.description)
        }
        var configuration = AppStoreServerClient.Configuration(
            environment: self.environment.environment,
            bundleID: self.app.app.bundleID,
            issuerID: self.issuerID,
            keyID: self.keyID,
            key: key,
            verifier: verifier
        )
        configuration.baseURL = self.api
        if let ca { configuration.trustRoots = try .ofOption("--ca", ca) }
        let url: HTTPURL
        do {
            url = try configuration.url()
        } catch {
            throw CommandFailure.usage(error.description)
        }
        configuration.proxy = try self.proxy.httpProxy(to: url.host, readsVariables: url.scheme == .https)
        do {
            return try AppStoreServerClient(configuration)
        } catch {
            throw CommandFailure.usage(error.description)
        }
    }
}

extension CommandFailure {
    /// The end of a command that Apple's server refused or did not answer.
    static func api(_ error: AppStoreServerError) -> CommandFailure {
        switch error.code {
        case .unauthorized, .connectionFailed, .timedOut: CommandFailure(.noConnection, error.description)
        case .invalidConfiguration: .usage(error.description)
        default: .refused(error.description)
        }
    }
}
