internal import FerryServer
internal import Testing

@Suite struct ServiceEnvironmentTests {
    private static func read(_ variables: [String: String], _ names: [String] = ["binary", "feedback"]) throws
        -> ServiceEnvironment
    {
        try ServiceEnvironment(variables, process: 42, names: names)
    }

    @Test func `without a manager nothing is passed, and nobody takes notices`() throws {
        let environment = try Self.read(["PATH": "/bin", "NOTIFY_SOCKET": ""])
        #expect(environment.notifySocket == nil)
        #expect(environment.watchdog == nil)
        #expect(environment.sockets.isEmpty)
    }

    @Test func `the manager's socket is a path or an abstract name`() throws {
        for name in ["/run/systemd/notify", "@abstract"] {
            #expect(try Self.read(["NOTIFY_SOCKET": name]).notifySocket == name)
        }
        for name in ["run/notify", "/", "@", "vsock:2:1234"] {
            #expect(throws: ServiceFault.self, "\(name)") { try Self.read(["NOTIFY_SOCKET": name]) }
        }
    }

    @Test func `a watchdog counts only for the process that it names`() throws {
        #expect(try Self.read(["WATCHDOG_USEC": "30000000"]).watchdog == .seconds(30))
        #expect(try Self.read(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"]).watchdog == .seconds(30))
        #expect(try Self.read(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "41"]).watchdog == nil)
        for text in ["", "0", "-1", "30s"] {
            #expect(throws: ServiceFault.self, "\(text)") { try Self.read(["WATCHDOG_USEC": text]) }
        }
        #expect(throws: ServiceFault.self) { try Self.read(["WATCHDOG_USEC": "1", "WATCHDOG_PID": "me"]) }
    }

    @Test func `passed sockets begin with descriptor 3, in the order of their names`() throws {
        let variables = ["LISTEN_FDS": "2", "LISTEN_PID": "42", "LISTEN_FDNAMES": "feedback:binary"]
        #expect(try Self.read(variables).sockets == ["feedback": 3, "binary": 4])
    }

    @Test func `sockets that are passed to another process, or to nobody, do not count`() throws {
        for process in ["41", nil] {
            var variables = ["LISTEN_FDS": "1", "LISTEN_FDNAMES": "binary"]
            variables["LISTEN_PID"] = process
            #expect(try Self.read(variables).sockets.isEmpty)
        }
    }

    @Test(
        arguments: [
            ("1", "ferry-gateway.socket", "takes 'binary', 'feedback': set FileDescriptorName="),
            ("1", nil, "a socket with the name ''"),
            ("2", "binary", "a socket with the name ''"),
            ("2", "binary:binary", "two sockets with the name 'binary'"),
            ("two", "binary", "LISTEN_FDS must be"),
            ("-1", "binary", "LISTEN_FDS must be"),
            ("2000", "binary", "LISTEN_FDS must be"),
        ] as [(String, String?, String)]
    )
    func `a socket that nobody would serve is an error`(count: String, names: String?, words: String) throws {
        var variables = ["LISTEN_FDS": count, "LISTEN_PID": "42"]
        variables["LISTEN_FDNAMES"] = names
        let fault = #expect(throws: ServiceFault.self) { try Self.read(variables) }
        #expect(fault?.description.contains(words) == true, "\(fault?.description ?? "")")
    }
}
