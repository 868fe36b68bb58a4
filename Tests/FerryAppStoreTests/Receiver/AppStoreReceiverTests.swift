import FerryAppStore
import FerryAppStoreTesting
import Foundation
import Synchronization
import Testing

@Suite struct AppStoreReceiverTests {
    private let signing: Signing

    init() throws { self.signing = try Signing() }

    private func receiver(
        limit: Duration = .seconds(60),
        _ handler: @escaping @Sendable (AppStoreNotification) async throws -> Void
    ) throws -> AppStoreReceiver {
        AppStoreReceiver(try self.signing.verifier(), handOver: .handler(handler), answerLimit: limit)
    }

    private func request(uuid: String = UUID().uuidString, bundleID: String = Signing.bundleID) throws
        -> AppStoreRequest
    {
        AppStoreRequest(body: Signing.post(try self.signing.renewal(uuid: uuid, bundleID: bundleID)))
    }

    @Test
    func `a notification is answered with 200 after the handler, and its copies without another call`() async throws {
        let calls = Mutex(0)
        let receiver = try self.receiver { _ in calls.withLock { $0 += 1 } }
        let request = try self.request()
        for _ in 0..<3 { #expect(await receiver.answer(to: request) == 200) }
        #expect(calls.withLock(\.self) == 1)
    }

    @Test func `a hundred copies at the same moment are one call`() async throws {
        let calls = Mutex(0)
        let gate = Gate()
        let receiver = try self.receiver { _ in
            calls.withLock { $0 += 1 }
            await gate.wait()
        }
        let request = try self.request()
        let statuses = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { await receiver.answer(to: request) } }
            group.addTask {
                gate.open()
                return 200
            }
            return await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(statuses == [200])
        #expect(calls.withLock(\.self) == 1)
    }

    @Test func `a handler that throws is answered with 503, and Apple's next copy is a new call`() async throws {
        struct Failure: Error {}
        let calls = Mutex(0)
        let receiver = try self.receiver { _ in
            let number = calls.withLock { calls in
                calls += 1
                return calls
            }
            if number == 1 { throw Failure() }
        }
        let request = try self.request()
        #expect(await receiver.answer(to: request) == 503)
        #expect(await receiver.answer(to: request) == 200)
        #expect(calls.withLock(\.self) == 2)
    }

    @Test func `a handler that hangs is answered with 503 in time, and its late return is remembered`() async throws {
        let gate = Gate()
        let calls = Mutex(0)
        let receiver = try self.receiver(limit: .milliseconds(500)) { _ in
            calls.withLock { $0 += 1 }
            await gate.wait()
        }
        let request = try self.request()
        #expect(await receiver.answer(to: request) == 503)
        gate.open()
        #expect(await receiver.shutDown(within: .seconds(60)) == 0)
        #expect(calls.withLock(\.self) <= 1)
    }

    @Test func `the fault of a post decides the status`() async throws {
        let receiver = try self.receiver { _ in }
        let genuine = try self.request()
        #expect(await receiver.answer(to: AppStoreRequest(method: "GET", body: [])) == 200)
        #expect(await receiver.answer(to: AppStoreRequest(method: "HEAD", body: [])) == 200)
        for method in ["PUT", "DELETE", "OPTIONS", "post", ""] {
            #expect(await receiver.answer(to: AppStoreRequest(method: method, body: genuine.body)) == 405)
        }
        #expect(await receiver.answer(to: AppStoreRequest(body: Array("x".utf8))) == 400)
        #expect(await receiver.answer(to: AppStoreRequest(body: Array(repeating: 32, count: 1 << 18 + 1))) == 413)
        let other = try self.request(bundleID: "com.example.other")
        #expect(await receiver.answer(to: other) == 403)
        let foreign = try Signing().renewal()
        #expect(await receiver.answer(to: AppStoreRequest(body: Signing.post(foreign))) == 403)
        let xcode = try self.signing.renewal(environment: "Xcode")
        #expect(await receiver.answer(to: AppStoreRequest(body: Signing.post(xcode))) == 503)
        let test = try self.signing.signer.sign(
            Array(
                """
                {"notificationType":"TEST","notificationUUID":"T","version":"2.0","signedDate":1790000000000,\
                "data":{"bundleId":"\(Signing.bundleID)","environment":"Sandbox"}}
                """.utf8
            )
        )
        #expect(await receiver.answer(to: AppStoreRequest(body: Signing.post(test))) == 200)
        let unknown = try self.signing.signer.sign(
            Array(
                #"{"signedDate":1790000000000,"data":{"bundleId":"com.example.app","environment":"Sandbox"}}"#.utf8
            )
        )
        #expect(await receiver.answer(to: AppStoreRequest(body: Signing.post(unknown))) == 500)
        for date in ["1790000000000.5", #""1790000000000""#] {
            let text = try self.signing.signer.sign(
                Array(
                    """
                    {"notificationType":"TEST","notificationUUID":"T","signedDate":\(date),\
                    "data":{"bundleId":"\(Signing.bundleID)","environment":"Sandbox"}}
                    """.utf8
                )
            )
            #expect(await receiver.answer(to: AppStoreRequest(body: Signing.post(text))) == 500)
        }
        await receiver.shutDown(within: .seconds(1))
        #expect(await receiver.answer(to: genuine) == 503)
    }

    @Test func `a forged copy cannot take the identifier of a genuine notification`() async throws {
        let seen = Mutex<[String]>([])
        let receiver = try self.receiver { notification in seen.withLock { $0.append(notification.uuid) } }
        let forged = try Signing().renewal(uuid: "U")
        #expect(await receiver.answer(to: AppStoreRequest(body: Signing.post(forged))) == 403)
        let genuine = try self.request(uuid: "U")
        #expect(await receiver.answer(to: genuine) == 200)
        #expect(seen.withLock(\.self) == ["U"])
    }
}

/// Lets tasks wait until it is opened.
final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func open() {
        let waiting = self.state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = self.state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}
