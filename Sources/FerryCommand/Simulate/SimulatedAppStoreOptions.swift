internal import ArgumentParser
internal import FerryAppStore
internal import FerryAppStoreTesting

/// Options of the simulated App Store.
struct SimulatedAppStoreOptions: ParsableArguments {
    /// A fault of a tenth of the posts or requests.
    enum Fault: String, CaseIterable, ExpressibleByArgument {
        /// The connection is cut in the middle of a post.
        case cut
        /// The body of a post comes slowly.
        case slow
        /// The answer to a post is not awaited, and the post is sent again.
        case impatient
        /// A notification comes up to a minute late.
        case late
        /// A request to the API fails, is cut or takes long.
        case api
    }

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The port of the App Store Server API over HTTPS; 0 for any.", valueName: "port")
    )
    var appStore: Int?

    @Option(help: ArgumentHelp("Where notifications are posted: http:// or https://.", valueName: "url"))
    var appStoreUrl: String?

    @Option(help: ArgumentHelp("The bundle ID of the app. Its number is 1234567890.", valueName: "bundle"))
    var appStoreApp = "com.example.app"

    @Flag(help: "Be the sandbox: one attempt for each notification. Without it, production with all retries.")
    var appStoreSandbox = false

    @Option(help: ArgumentHelp("How many notifications to send, of all types in turn.", valueName: "n"))
    var appStoreCount = 0

    @Option(help: ArgumentHelp("How many notifications to send in a second.", valueName: "n"))
    var appStoreRate = 10.0

    @Option(help: ArgumentHelp("How many of 100 notifications are sent again after a success.", valueName: "percent"))
    var appStoreDuplicates = 0.0

    @Option(
        help: ArgumentHelp(
            "What goes wrong in a tenth of the cases: cut, slow, impatient, late or api. May be repeated.",
            valueName: "fault"
        )
    )
    var appStoreFault: [Fault] = []

    @Option(
        help: ArgumentHelp(
            "How many seconds its clock runs in one: with 3600, the retry after an hour comes after a second.",
            valueName: "n"
        )
    )
    var appStoreSpeed = 1.0

    /// The number of the app.
    static let appAppleID: Int64 = 1_234_567_890
    /// The fraction of posts and requests that have a fault.
    private static let faultFraction = 0.1
    private static let fastest = 1_000_000.0

    func validate() throws {
        guard self.appStore != nil else {
            if self.appStoreUrl != nil || self.appStoreCount != 0 {
                throw ValidationError("--app-store-url and --app-store-count need --app-store PORT.")
            }
            return
        }
        guard self.appStoreCount >= 0 else { throw ValidationError("--app-store-count takes a number, 0 or more.") }
        if self.appStoreCount > 0, self.appStoreUrl == nil {
            throw ValidationError("Say where notifications go: --app-store-url URL.")
        }
        guard 0.001...100_000 ~= self.appStoreRate else {
            throw ValidationError("--app-store-rate takes a number, 0.001 to 100000.")
        }
        guard 0...100 ~= self.appStoreDuplicates else {
            throw ValidationError("--app-store-duplicates takes a number, 0 to 100.")
        }
        guard 0.001...Self.fastest ~= self.appStoreSpeed else {
            throw ValidationError("--app-store-speed takes a number, 0.001 to 1000000.")
        }
        guard !self.appStoreApp.isEmpty else { throw ValidationError("--app-store-app takes a bundle ID.") }
    }

    var app: AppStoreApp { AppStoreApp(bundleID: self.appStoreApp, appAppleID: Self.appAppleID) }

    var environment: AppStoreEnvironment { self.appStoreSandbox ? .sandbox : .production }

    /// The faults of posts.
    var senderOptions: NotificationSender.Options {
        func fraction(_ fault: Fault) -> Double { self.appStoreFault.contains(fault) ? Self.faultFraction : 0 }
        var options = NotificationSender.Options()
        options.duplicates = self.appStoreDuplicates / 100
        options.cuts = fraction(.cut)
        options.slowBodies = fraction(.slow)
        options.impatience = fraction(.impatient)
        options.reordered = fraction(.late)
        return options
    }

    /// The fraction of requests to the API that have a fault.
    var apiFaults: Double { self.appStoreFault.contains(.api) ? Self.faultFraction : 0 }
}
