import FerryServer
import Foundation
import NIOCore
import NIOHTTP1
import Testing

@testable import FerryAppStore
@testable import FerryHTTP1

@Suite(.timeLimit(.minutes(10))) final class StoreDeskTests {
    private let folder: TemporaryFolder
    private let signing: Signing

    init() throws {
        self.folder = try TemporaryFolder()
        self.signing = try Signing()
    }

    @Test func `a store takes each text once that its verifier accepts, and refuses the others by kind`() async throws {
        let path = self.folder.path("store.db")
        let store = AppStoreStore(path: path)
        try await store.open()
        var configuration = self.signing.configuration
        configuration.environments = [.production]
        let desk = StoreDesk(store, verifier: try AppStoreVerifier(configuration))
        let server = try await ControlServer.start(store: path, desk)
        let client = try ControlClient(store: path)
        let genuine = try self.signing.renewal(uuid: "A")
        #expect(ControlAnswer.taken(try await client.ask(.take(signedPayload: genuine))) == .stored)
        #expect(ControlAnswer.taken(try await client.ask(.take(signedPayload: genuine))) == .duplicate)
        let refusals: [(String, AppStoreVerificationError.Code)] = [
            (try self.signing.renewal(environment: "Sandbox"), .otherEnvironment),
            (try self.signing.renewal(bundleID: "com.example.other"), .otherApp),
            (try Signing().renewal(), .forged),
            ("words", .malformed),
        ]
        for (text, code) in refusals {
            guard case .refused(let error) = ControlAnswer.taken(try await client.ask(.take(signedPayload: text)))
            else {
                Issue.record("\(code) was not refused")
                continue
            }
            #expect(error.code == code)
        }
        #expect(try await store.list(limit: 10, before: nil, state: nil).count == 1)
        await server.stop()
        await store.close()
    }

    @Test func `each request comes back from its route, and a route that does not exist is none`() throws {
        let requests: [ControlRequest] = [
            .list(limit: 1, before: nil, state: nil), .list(limit: 10_000, before: .max, state: .dead),
            .show(uuid: "A b"),
            .redeliver(uuid: ""), .redeliver(uuid: nil), .deliverUnsent, .take(signedPayload: "a.b.c"),
            .learn(signedPayload: "a.b.c"),
        ]
        func read(_ method: String, _ target: String, _ body: String = "") -> ControlRequest? {
            ControlRequest(HTTPServerRequest(method: method, target: target, body: Array(body.utf8)))
        }
        for request in requests {
            let route = request.route
            #expect(read(route.method.rawValue, route.target, route.body) == request)
        }
        #expect(read("GET", "/list?limit=0&x") == .list(limit: 1, before: nil, state: nil))
        for target in ["/", "/list?state=gone", "/show"] { #expect(read("GET", target) == nil) }
    }

    @Test func `a command that meets a process of an older version says so`() async throws {
        /// Answers a line, and closes.
        final class OlderHandler: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                context.writeAndFlush(NIOAny(ByteBuffer(string: "{\"error\":\"not known\"}\n")), promise: nil)
                context.close(promise: nil)
            }
        }
        let path = self.folder.path("store.db")
        var configuration = Listener.Configuration()
        configuration.socketPath = ControlServer.path(store: path)
        let listener = try await Listener.bind(configuration, on: nil) { _ in OlderHandler() }
        do throws(ControlClient.Failure) {
            _ = try await ControlClient(store: path).ask(.show(uuid: "A"))
            Issue.record("the answer was taken")
        } catch {
            if case .failed(let sentence) = error {
                #expect(sentence.contains("older version"))
            } else {
                Issue.record("no sentence")
            }
        }
        await listener.stop(within: .seconds(1))
        do throws(ControlClient.Failure) {
            _ = try await ControlClient(store: path).ask(.show(uuid: "A"))
            Issue.record("the answer was taken")
        } catch {
            if case .noProcess = error {} else { Issue.record("a process was seen") }
        }
    }
}
