/// An environment of the App Store, by Apple's name. An unknown name is kept as it is.
public struct AppStoreEnvironment: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// Apple's name of the environment, such as `Sandbox`.
    public let rawValue: String

    /// The environment of real purchases. Apple repeats a notification that no server has accepted.
    public static let production = AppStoreEnvironment(rawValue: "Production")
    /// The environment of test purchases. Apple sends each notification once.
    public static let sandbox = AppStoreEnvironment(rawValue: "Sandbox")

    /// Makes an environment from any name. Case matters: the name `production` in lower case is not ``production``.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Apple's name: ``rawValue``.
    public var description: String { self.rawValue }
}
