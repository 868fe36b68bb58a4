import FerryCore
import FerryGateway
import FerryTerminal
import Foundation
import Testing

@testable import FerryCommand

/// Reloads that meet the end of their gateway.
@Suite(.timeLimit(.minutes(10))) struct GatewayReloaderTests {
    @Test func `a reload that is under way when the end begins leaves no task behind`() async throws {
        try await GatewayHarness.run { harness in
            let plan = try GatewayCommand.plan(of: try harness.configuration(port: 1))
            let next = try Data(contentsOf: URL(filePath: try harness.configuration(port: 2)))
            let (reloader, gateway, upstreams) = try await Self.start(plan, harness)
            #expect(await reloader.trying.keys.sorted() == ["apns"])
            // The reload reads its file until this program has written it.
            let path = harness.directory.path("gateway.json")
            try FileManager.default.removeItem(atPath: path)
            try #require(mkfifo(path, 0o600) == 0)
            let reload = Task { await reloader.reload() }
            var file: Int32 = -1
            #expect(
                try await eventually {
                    file = open(path, O_WRONLY | O_NONBLOCK)
                    return file >= 0
                }
            )
            await reloader.close()
            try FileHandle(fileDescriptor: file, closeOnDealloc: true).write(contentsOf: next)
            close(file)
            #expect(await reload.value.isTaken)
            #expect(await reloader.trying.isEmpty)
            #expect(await reloader.watching.isCancelled)
            _ = await gateway.shutDown(within: .zero)
            await gateway.shutDownUpstreams(within: .seconds(1))
            for upstream in upstreams { _ = await upstream.provider.shutDown(within: .zero) }
        }
    }

    /// Starts the gateway of a plan in this process.
    private static func start(
        _ plan: GatewayPlan,
        _ harness: GatewayHarness
    ) async throws -> (GatewayReloader, Gateway, [GatewayUpstream]) {
        let notes = GatewayAdminService.Notes()
        let upstreams = try zip(plan.upstreamNames, plan.upstreams).map { name, upstream in
            try GatewayCommand.upstream(upstream, name) { _ in }
        }
        let gateway = try await Gateway.start(plan.gateway, upstreams: upstreams)
        let reloader = GatewayReloader(
            harness.directory.path("gateway.json"),
            plan,
            TokenSources(),
            gateway,
            upstreams.map(\.watch),
            notes,
            try ServiceManager(sockets: [], variables: [:]),
            level: LogPolicy.current.level,
            rename: { _ in },
            statusLine: { "" }
        )
        return (reloader, gateway, upstreams)
    }
}
