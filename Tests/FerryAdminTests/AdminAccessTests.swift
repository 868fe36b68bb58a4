import FerryPlatform
import NIOHTTP1
import Testing

@testable import FerryAdmin

@Suite struct AdminAccessTests {
    private static func answer(
        _ access: AdminAccess,
        _ way: AdminAccess.Way = .port,
        _ method: String = "GET",
        _ headers: HTTPHeaders
    ) -> AdminAccess.Refusal? {
        do throws(AdminAccess.Refusal) {
            try access.admit(way, method, headers)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "localhost", "LOCALHOST:2199", "127.0.0.1:2199", "[::1]:2199", "192.0.2.1", "gateway.internal:2199",
    ])
    func `the port is asked by address, as localhost, or by its configured host`(host: String) {
        let access = AdminAccess(names: ["Gateway.Internal"], token: nil)
        #expect(Self.answer(access, .port, "GET", ["Host": host]) == nil)
    }

    @Test(arguments: ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:2199", "", "[::1", "gateway"])
    func `a foreign name of the host is refused`(host: String) {
        let access = AdminAccess(names: ["gateway.internal"], token: nil)
        #expect(Self.answer(access, .port, "GET", ["Host": host]) == .foreignHost)
    }

    @Test func `a request without a host, or with two, is refused`() {
        let access = AdminAccess(names: [], token: nil)
        #expect(Self.answer(access, .port, "GET", [:]) == .foreignHost)
        #expect(Self.answer(access, .port, "GET", HTTPHeaders([("Host", "localhost"), ("Host", "x")])) == .foreignHost)
    }

    @Test func `a port with a token is asked under any name`() {
        let access = AdminAccess(names: [], token: Array("secret".utf8))
        let headers: HTTPHeaders = ["Host": "balancer.example", "Authorization": "Bearer secret"]
        #expect(Self.answer(access, .port, "GET", headers) == nil)
        #expect(Self.answer(access, .port, "GET", ["Host": "balancer.example"]) == .unauthorized)
    }

    @Test func `the port only reads`() {
        let access = AdminAccess(names: [], token: nil)
        #expect(Self.answer(access, .port, "HEAD", ["Host": "localhost"]) == nil)
        #expect(Self.answer(access, .port, "POST", ["Host": "localhost"]) == .readOnly)
    }

    @Test func `the socket takes everything, under any name`() {
        let access = AdminAccess(names: [], token: Array("secret".utf8))
        #expect(Self.answer(access, .socket, "POST", ["Host": "ferry"]) == nil)
    }

    @Test func `a token comes as Bearer, or as the password of Basic`() {
        let access = AdminAccess(names: [], token: Array("se:cret".utf8))
        func answer(_ authorization: String?) -> AdminAccess.Refusal? {
            var headers: HTTPHeaders = ["Host": "localhost"]
            if let authorization { headers.add(name: "Authorization", value: authorization) }
            return Self.answer(access, .port, "GET", headers)
        }
        let basic = Data("prometheus:se:cret".utf8).base64EncodedString()
        #expect(answer("Bearer se:cret") == nil)
        #expect(answer("basic \(basic)") == nil)
        for wrong in [nil, "Bearer secret", "Bearer", "Basic !", "Basic \(Data("se:cret".utf8).base64EncodedString())"]
        {
            #expect(answer(wrong) == .unauthorized, "\(String(describing: wrong))")
        }
    }
}
