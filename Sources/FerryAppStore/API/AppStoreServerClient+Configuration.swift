internal import FerryCore
package import FerryHTTP1
public import FerryOpenSSL
public import FerryProxy

extension AppStoreServerClient {
    /// The app, its key, and the limits of requests.
    ///
    /// The key is a key for in-app purchases. App Store Connect makes it under Users and Access, Integrations, In-App
    /// Purchase. The same page shows the key id and the issuer id.
    public struct Configuration: Sendable {
        /// The environment. Apple's server and the limits of requests depend on the environment. Outside production,
        /// the limits are a tenth of those in production. An unknown environment needs a ``baseURL``.
        public var environment: AppStoreEnvironment
        /// The app's bundle identifier: `bid` in each token. It must not be empty.
        public var bundleID: String
        /// The issuer id: `iss` in each token. It must not be empty.
        public var issuerID: String
        /// The id of ``key``: `kid` in each token. It must not be empty. With the id of another key, each call fails
        /// with ``AppStoreServerError/Code/unauthorized``.
        public var keyID: String
        /// The key that signs the tokens: the `.p8` file of App Store Connect.
        public var key: ES256Key
        /// The verifier of the signed texts in answers. It must accept the app and the environment.
        public var verifier: AppStoreVerifier
        /// A server in place of Apple's, for tests: `https://localhost:8443`. If nil, the server of the environment is
        /// used.
        public var baseURL: String?
        /// The authorities that may sign the server's certificate.
        public var trustRoots = TrustRoots.system
        /// The proxy for all connections; nil for no proxy.
        public var proxy: HTTPProxy?
        /// The longest time of one attempt.
        public var attemptLimit: Duration = .seconds(30)
        /// The longest time from the start of a call to the start of its last attempt, with all waits. The last
        /// attempt may then take ``attemptLimit`` more.
        public var callLimit: Duration = .seconds(180)
        /// The largest number of attempts of a call, the first included. A number below 1 counts as 1.
        public var attempts = 5

        /// Makes a configuration. ``AppStoreServerClient/init(_:)`` checks it, and refuses empty identifiers.
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

        /// Checks the configuration, and returns the address of the server. Throws `invalidConfiguration`. Source:
        /// "App Store Server API" (Apple).
        package func url() throws(AppStoreServerError) -> HTTPURL {
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
            let url: HTTPURL
            do {
                url = try HTTPURL(text)
            } catch {
                throw AppStoreServerError(.invalidConfiguration, error.description, cause: error)
            }
            if let fault = self.proxy?.fault(connectingTo: url.host) {
                throw AppStoreServerError(.invalidConfiguration, fault)
            }
            return url
        }
    }
}
