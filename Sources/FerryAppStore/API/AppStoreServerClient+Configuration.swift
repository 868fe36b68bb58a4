internal import FerryCore
public import FerryOpenSSL

extension AppStoreServerClient {
    /// The app, its key, and the limits of requests.
    ///
    /// The key is one for in-app purchases: App Store Connect, Users and Access, Integrations, In-App Purchase. There are
    /// its key id and the issuer id, too.
    public struct Configuration: Sendable {
        /// The environment. It chooses Apple's server, and the limits of requests: the sandbox has a tenth of production's.
        /// Any other environment needs a ``baseURL``.
        public var environment: AppStoreEnvironment
        /// The app's bundle identifier: `bid` in each token. It must not be empty.
        public var bundleID: String
        /// The issuer id: `iss` in each token. It must not be empty.
        public var issuerID: String
        /// The id of ``key``: `kid` in each token. It must not be empty. With the id of another key, each call fails with
        /// ``AppStoreServerError/Code/unauthorized``.
        public var keyID: String
        /// The key that signs the tokens: the `.p8` file of App Store Connect.
        public var key: ES256Key
        /// Verifies the signed texts in answers. It must serve the app and the environment.
        public var verifier: AppStoreVerifier
        /// The server in Apple's place, for tests: `https://localhost:8443`. Nil: the environment's own.
        public var baseURL: String?
        /// The authorities that may sign the server's certificate.
        public var trustRoots = TrustRoots.system
        /// For one attempt.
        public var attemptLimit: Duration = .seconds(30)
        /// For a call with all its waits and attempts.
        public var callLimit: Duration = .seconds(180)
        /// The attempts of a call, the first included.
        public var attempts = 5

        /// Makes a configuration. It is not checked here: ``AppStoreServerClient/init(_:)`` refuses empty names.
        public init(
            environment: AppStoreEnvironment,
            bundleID: String,
            issuerID: String,
            keyID: String,
            key: ES256Key,
            verifier: AppStoreVerifier
        ) {
            self.environment = environment
            self.bundleID = bundleID
            self.issuerID = issuerID
            self.keyID = keyID
            self.key = key
            self.verifier = verifier
        }

        /// Source: "App Store Server API" (Apple).
        func url() throws(AppStoreServerError) -> HTTPURL {
            guard !self.bundleID.isEmpty, !self.issuerID.isEmpty, !self.keyID.isEmpty else {
                throw AppStoreServerError(.invalidConfiguration, "Bundle id, issuer id and key id must not be empty.")
            }
            let text: String
            switch (self.baseURL, self.environment) {
            case (let url?, _): text = url
            case (nil, .production): text = "https://api.storekit.apple.com"
            case (nil, .sandbox): text = "https://api.storekit-sandbox.apple.com"
            case (nil, let other):
                throw AppStoreServerError(
                    .invalidConfiguration,
                    "Apple has no server for the environment \(other.rawValue.printable): choose Production or Sandbox."
                )
            }
            do {
                return try HTTPURL(text)
            } catch {
                throw AppStoreServerError(.invalidConfiguration, error.description, cause: error)
            }
        }
    }
}
