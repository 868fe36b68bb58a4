import Ferry
import FerryTesting
import NIOCore
import NIOPosix
import Testing

/// How a provider under test works. The callers of a provider must not see the difference.
enum Arrangement: String, CaseIterable {
    case alone
    case onTwoLoops
    /// As the side of a migration that has all devices. Nobody listens on the other side.
    case migrating

    /// The arrangement of the present run of a test.
    @TaskLocal static var current = Arrangement.alone

    /// Two event loops, however many processors there are.
    static let twoLoops = MultiThreadedEventLoopGroup(numberOfThreads: 2)

    /// The number of event loops, and so of connections of a provider that needs one for each.
    var loops: Int { self == .onTwoLoops ? 2 : 1 }

    /// Returns what each event loop reports once.
    func perLoop<Element>(_ element: Element) -> [Element] { Array(repeating: element, count: self.loops) }
}

/// A provider in the present ``Arrangement``.
final class TestedProvider: LoopProvider {
    private let provider: any LoopProvider
    var body: ProviderBody { self.provider.body }

    init(_ configuration: BinaryConfiguration) throws {
        var configuration = configuration
        switch Arrangement.current {
        case .alone: self.provider = try BinaryProvider(configuration)
        case .onTwoLoops:
            configuration.loopCount = 2
            configuration.options.maxConnections = max(configuration.options.maxConnections, 2)
            configuration.eventLoopGroup = Self.loops(configuration.eventLoopGroup)
            self.provider = try BinaryProvider(configuration)
        case .migrating:
            var http2 = HTTP2Configuration(
                host: "localhost",
                port: 1,
                credentials: .certificate(try TestCredentials().client),
                topic: "com.example.ferry",
                outcomes: .discard
            )
            http2.options.maxConnections = configuration.options.maxConnections
            var migration = MigratingConfiguration(
                binary: configuration,
                http2: http2,
                options: MigrationOptions(rule: MigrationRule(share: 0)),
                outcomes: configuration.outcomes
            )
            migration.options.queueLimit = configuration.options.queueLimit
            migration.eventLoopGroup = configuration.eventLoopGroup
            migration.loopCount = configuration.loopCount
            migration.observer = configuration.observer
            migration.tracer = configuration.tracer
            self.provider = try MigratingProvider(migration)
        }
    }

    init(_ configuration: HTTP2Configuration) throws {
        var configuration = configuration
        switch Arrangement.current {
        case .alone: self.provider = try HTTP2Provider(configuration)
        case .onTwoLoops:
            configuration.loopCount = 2
            configuration.options.maxConnections = max(configuration.options.maxConnections, 2)
            configuration.eventLoopGroup = Self.loops(configuration.eventLoopGroup)
            self.provider = try HTTP2Provider(configuration)
        case .migrating:
            var binary = BinaryConfiguration(host: "localhost", port: 1, outcomes: .discard)
            // The smaller number of connections bounds the loops.
            binary.options.maxConnections = configuration.options.maxConnections
            var migration = MigratingConfiguration(
                binary: binary,
                http2: configuration,
                options: MigrationOptions(rule: MigrationRule(share: 100)),
                outcomes: configuration.outcomes
            )
            migration.options.queueLimit = configuration.options.queueLimit
            migration.eventLoopGroup = configuration.eventLoopGroup
            migration.loopCount = configuration.loopCount
            migration.observer = configuration.observer
            migration.tracer = configuration.tracer
            self.provider = try MigratingProvider(migration)
        }
    }

    /// The group of a test that has its own, or else two loops.
    private static func loops(_ group: any EventLoopGroup) -> any EventLoopGroup {
        group === MultiThreadedEventLoopGroup.singleton ? Arrangement.twoLoops : group
    }
}

/// The configuration of a ``TestedProvider``.
struct TestedConfiguration<Base: ProviderConfiguration>: ProviderConfiguration {
    var base: Base
    let make: @Sendable (Base) throws -> TestedProvider

    var outcomes: OutcomeDelivery {
        get { self.base.outcomes }
        set { self.base.outcomes = newValue }
    }

    func makeProvider() throws -> TestedProvider { try self.make(self.base) }
}

extension BinaryConfiguration {
    var tested: TestedConfiguration<BinaryConfiguration> { TestedConfiguration(base: self) { try TestedProvider($0) } }
}

extension HTTP2Configuration {
    var tested: TestedConfiguration<HTTP2Configuration> { TestedConfiguration(base: self) { try TestedProvider($0) } }
}

/// Runs each test once in every ``Arrangement``. An issue names the one in which it occurred.
struct EveryArrangement: TestTrait, SuiteTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        for arrangement in Arrangement.allCases {
            try await Arrangement.$current.withValue(arrangement) { try await function() }
        }
    }
}

extension Trait where Self == EveryArrangement {
    static var inEveryArrangement: EveryArrangement { EveryArrangement() }
}

extension Trait where Self == IssueHandlingTrait {
    /// Names the arrangement in each issue.
    static var namingTheArrangement: IssueHandlingTrait {
        .compactMapIssues { issue in
            var issue = issue
            issue.comments.append(Comment(rawValue: "The provider is \(Arrangement.current.rawValue)."))
            return issue
        }
    }
}
