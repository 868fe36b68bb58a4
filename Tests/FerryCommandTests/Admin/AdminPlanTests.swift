import FerryTerminal
import Testing

@testable import FerryCommand

@Suite struct AdminPlanTests {
    private static func plan(_ settings: AdminSettings, _ form: AdminSettings.Form) throws -> AdminPlan {
        try AdminPlan(settings, form, of: .gateway, store: nil) { path, _ in path }
    }

    @Test func `the socket is as given, else in the runtime directory, else beside the store`() {
        let variables = ["RUNTIME_DIRECTORY": "/run/ferry:/run/other"]
        #expect(AdminPlan.socket(of: .gateway, "s", store: "db", variables: variables) == .given("s"))
        #expect(
            AdminPlan.socket(of: .appstore, nil, store: "db", variables: variables)
                == .chosen("/run/ferry/appstore-admin")
        )
        #expect(AdminPlan.socket(of: .gateway, nil, store: "db", variables: [:]) == .chosen("db-admin"))
        #expect(AdminPlan.socket(of: .gateway, nil, store: nil, variables: [:]) == .none)
    }

    @Test func `a fault names the setting as the operator wrote it`() {
        var settings = AdminSettings()
        settings.host = "0.0.0.0"
        let forms: [(AdminSettings.Form, String)] = [
            (.members, "'host' needs 'port'"), (.options, "--admin-host needs"),
        ]
        for (form, word) in forms {
            let failure = #expect(throws: CommandFailure.self) { _ = try Self.plan(settings, form) }
            #expect(failure?.message.hasPrefix(word) == true)
        }
    }

    @Test func `a port beyond this machine without token and certificate is warned of`() throws {
        var settings = AdminSettings()
        settings.port = 2199
        #expect(try Self.plan(settings, .options).warnings.isEmpty)
        settings.host = "0.0.0.0"
        let warnings = try Self.plan(settings, .options).warnings
        #expect(
            warnings == [
                "admin: everyone who reaches 0.0.0.0 may read it: give --admin-token-file",
                "admin: what 0.0.0.0 shows is not encrypted: give --admin-cert and --admin-key",
            ]
        )
    }

    @Test func `q and the keys that would be signals end a screen`() {
        for key: Character in ["q", "\u{03}", "\u{1c}"] { #expect(TopScreen.isEnd(key)) }
        for key: Character in ["\u{1a}", "Q", "\u{1b}"] { #expect(!TopScreen.isEnd(key)) }
    }

    @Test func `a screen is cut to its terminal`() {
        #expect(TopScreen.cut("12345\nab\nc", lines: 2, columns: 4) == "123…\nab")
    }
}
