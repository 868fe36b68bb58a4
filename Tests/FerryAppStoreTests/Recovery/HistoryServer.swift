import FerryAppStore
import FerryCore
import FerryHTTP1TestSupport
import FerryOpenSSL
import Foundation

/// Apple's notification history for tests: pages of two, with places that may expire.
final class HistoryServer: Sendable {
    struct Script: Sendable {
        /// In Apple's order.
        var payloads: [String] = []
        /// The attempts of each, as JSON.
        var attempts = "[]"
        /// The pages, from 0, whose places have expired: once each.
        var expired: Set<Int> = []
        /// Answers in the place of pages, first to last.
        var failures: [TestHTTPServer.Reply] = []
    }

    private final class State: Sendable {
        let script: Locked<Script>

        init(_ script: Script) { self.script = Locked(script) }

        func reply(_ request: TestHTTPServer.Request) -> TestHTTPServer.Reply {
            self.script.withLock { script in
                guard script.failures.isEmpty else { return script.failures.removeFirst() }
                let place = request.uri.split(separator: "=").dropFirst().first.flatMap { Int($0.dropFirst()) } ?? 0
                if script.expired.remove(place) != nil { return .json(400, #"{"errorCode":4000017}"#) }
                let items = script.payloads.dropFirst(place * 2).prefix(2)
                let hasMore = script.payloads.count > place * 2 + 2
                let list = items.map { #"{"signedPayload":"\#($0)","sendAttempts":\#(script.attempts)}"# }
                return .json(
                    #"""
                    {"notificationHistory":[\#(list.joined(separator: ","))],"hasMore":\#(hasMore),\#
                    "paginationToken":"p\#(place + 1)"}
                    """#
                )
            }
        }
    }

    private let state: State
    let server: TestHTTPServer

    static func start(_ authority: ThrowAwayCA, _ script: Script) async throws -> HistoryServer {
        let state = State(script)
        return HistoryServer(state, try await TestHTTPServer.start(authority) { state.reply($0) })
    }

    private init(_ state: State, _ server: TestHTTPServer) {
        self.state = state
        self.server = server
    }

    func change(_ body: (inout Script) -> Void) { self.state.script.withLock { body(&$0) } }
}

/// Keeps the keys of notifications.
final class TestSink: AppStoreNotificationSink {
    private struct State {
        var keys: [String] = []
        var failures = 0
    }

    private let state: Locked<State>
    private let refused: Set<String>

    /// - Parameters:
    ///   - failures: how many notifications are not taken, at first.
    ///   - refused: the keys of notifications that are never taken.
    init(_ keys: [String] = [], failures: Int = 0, refused: Set<String> = []) {
        self.state = Locked(State(keys: keys, failures: failures))
        self.refused = refused
    }

    var keys: [String] { self.state.withLock { $0.keys } }

    func take(_ notification: AppStoreNotification, signedPayload: String) async -> AppStoreSinkAnswer {
        guard !self.refused.contains(notification.uuid) else {
            return .refused(AppStoreVerificationError(.otherEnvironment, "It is of the sandbox."))
        }
        return self.state.withLock { state in
            if state.failures > 0 {
                state.failures -= 1
                return .failed("the disk is full")
            }
            if state.keys.contains(notification.uuid) { return .duplicate }
            state.keys.append(notification.uuid)
            return .stored
        }
    }
}
