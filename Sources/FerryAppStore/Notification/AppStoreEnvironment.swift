/// An environment of the App Store, in Apple's words. An unknown one is kept as it is.
public struct AppStoreEnvironment: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public static let production = AppStoreEnvironment(rawValue: "Production")
    public static let sandbox = AppStoreEnvironment(rawValue: "Sandbox")

    public init(rawValue: String) { self.rawValue = rawValue }

    public var description: String { self.rawValue }
}
