import FerryOpenSSL
import Testing

@testable import FerryGateway

@Suite struct ListenGroupTests {
    private static func door(
        _ port: Int,
        feedback: Int? = nil,
        _ names: [String] = [],
        host: String = "127.0.0.1"
    ) throws -> Gateway.Door {
        var door = Gateway.Door(identity: try ThrowAwayCA().server(), clients: GatewayClients([]))
        (door.host, door.port, door.feedbackPort, door.serverNames) = (host, port, feedback, names)
        return door
    }

    @Test func `one door with feedback has two sockets`() throws {
        let groups = ListenGroup.groups(of: [try Self.door(2195, feedback: 2196)])
        #expect(groups.map(\.address.service) == [.binary, .feedback])
        #expect(groups.map(\.address.port) == [2195, 2196])
        #expect(groups.map(\.doors) == [[0], [0]])
    }

    @Test func `doors with server names share the socket of their address, and the nameless one is the first`() throws {
        let doors = [
            try Self.door(2195, ["gateway.sandbox.push.apple.com"]), try Self.door(2195),
            try Self.door(2195, ["other.example.com"]),
        ]
        let groups = ListenGroup.groups(of: doors)
        #expect(groups.map(\.doors) == [[1, 0, 2]])
    }

    @Test func `doors at any port have sockets of their own`() throws {
        let groups = ListenGroup.groups(of: [try Self.door(0), try Self.door(0), try Self.door(0, ["a.example.com"])])
        #expect(groups.map(\.doors) == [[0], [1, 2]])
        #expect(Set(groups.map(\.address)).count == 2)
    }

    @Test func `another host is another socket, also with the same port`() throws {
        let groups = ListenGroup.groups(of: [try Self.door(2195), try Self.door(2195, host: "::1")])
        #expect(groups.count == 2)
    }

    @Test func `the same configuration has the same addresses`() throws {
        let doors = [try Self.door(2195, feedback: 2196), try Self.door(0)]
        #expect(ListenGroup.groups(of: doors).map(\.address) == ListenGroup.groups(of: doors).map(\.address))
    }
}
