import Ferry
import FerryTesting
import Foundation
import NIOCore
import Testing

/// Tests of the first push after a pause, over a path that has forgotten the connections meanwhile. `FERRY_IDLE_PUSHES`
/// sets how many such pushes there are for each behaviour of the path.
@Suite(.timeLimit(.minutes(10))) struct IdlePathTests {
    private static let senders = 10
    private static let pushes =
        ProcessInfo.processInfo.environment["FERRY_IDLE_PUSHES"].flatMap(Int.init) ?? Self.senders

    @Test(arguments: ForgettingProxy.Behaviour.allCases)
    func `the first push after a pause is accepted`(_ behaviour: ForgettingProxy.Behaviour) async throws {
        try await RawAPNs.run { apns in
            try await ForgettingProxy.run(to: apns.port, behaviour) { path in
                let providers = try (0..<Self.senders).map { _ in
                    var configuration = try apns.configuration(nil, OutcomeCollector())
                    configuration.port = path.port
                    configuration.options.idleCheck = .milliseconds(100)
                    return try HTTP2Provider(configuration)
                }
                let rounds = max(Self.pushes / Self.senders, 1)
                for round in 0...rounds {
                    try await withThrowingTaskGroup { group in
                        for (sender, provider) in providers.enumerated() {
                            group.addTask {
                                let device = try Harness.device(sender * 1000 + round)
                                let outcome = try await provider.send(
                                    PushNotification(json: #"{"aps":{}}"#.utf8),
                                    to: device
                                )
                                #expect(outcome == .accepted(.confirmed))
                            }
                        }
                        try await group.waitForAll()
                    }
                    guard round < rounds else { break }
                    try await Task.sleep(for: .milliseconds(600))
                    path.forget()
                }
                #expect(path.forgotten >= Self.senders * rounds)
                #expect(apns.requests.count == Self.senders * (rounds + 1))
                for provider in providers { _ = await provider.shutDown(within: Harness.forever) }
            }
        }
    }
}
