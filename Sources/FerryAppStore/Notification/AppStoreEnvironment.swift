/// An environment of the App Store, in Apple's words. An unknown environment is kept as it is.
public struct AppStoreEnvironment: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// Apple's word, such as `Sandbox`.
    public let rawValue: String

    /// The environment of real purchases. Apple repeats a notification that no server has accepted.
    public static let production = AppStoreEnvironment(rawValue: "Production")
    /// The environment of test purchases. Apple sends each notification once.
    public static let sandbox = AppStoreEnvironment(rawValue: "Sandbox")

    /// Makes an environment from any word. Letters are compared exactly: `production` in lower case is not
    /// ``production``.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Apple's word: ``rawValue``.
    public var description: String { self.rawValue }
}
