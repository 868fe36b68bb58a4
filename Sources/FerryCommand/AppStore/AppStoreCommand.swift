internal import ArgumentParser

/// The command `ferry appstore`.
struct AppStoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "appstore",
        abstract: "Receives App Store Server Notifications, verified and in plain JSON.",
        discussion: """
            App Store Connect points at 'serve', which verifies each notification, keeps it, and forwards it to your \
            application.

            Exit status: 0, done; 1, refused, or not found; 2, bad usage or input; 3, no connection, or refused \
            credentials.

            Examples:
              ferry appstore serve --app com.example.app:1234567890 --listen 443 --host 0.0.0.0 \\
                --cert fullchain.pem --key privkey.pem --store notifications.db \\
                --forward http://localhost:8080/appstore --forward-secret-file secret.txt
              ferry appstore verify post.json --app com.example.app
              ferry appstore list --store notifications.db --state dead
              ferry appstore redeliver --store notifications.db --dead
              ferry appstore status --store notifications.db
            """,
        subcommands: [
            AppStoreServeCommand.self, AppStoreVerifyCommand.self, AppStoreListCommand.self, AppStoreShowCommand.self,
            AppStoreRedeliverCommand.self, AppStoreStatusCommand.self, AppStoreTopCommand.self,
            AppStoreTestCommand.self, AppStoreRecoverCommand.self,
        ]
    )
}
