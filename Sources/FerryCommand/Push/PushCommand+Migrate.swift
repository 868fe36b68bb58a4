internal import ArgumentParser
internal import Ferry
internal import FerryOptions
internal import FerryTerminal
internal import Logging

/// The settings of `ferry push --backend migrate`.
extension PushCommand {
    func validateMigration() throws {
        guard self.server.to == nil else {
            throw ValidationError("--to names no side: use --binary-to and, if not Apple's, --http2-to.")
        }
        guard self.migration.endpoint(of: .binary) != nil || self.config != nil else {
            throw ValidationError("Say where the gateway of the binary protocol is: --binary-to HOST:PORT.")
        }
        guard self.migration.endpoint(of: .http2) != nil || self.server.production || self.server.sandbox else {
            throw ValidationError("Say where to send over HTTP/2: --http2-to HOST:PORT, --production or --sandbox.")
        }
        if self.migration.endpoint(of: .http2) != nil, self.server.production || self.server.sandbox {
            throw ValidationError("--http2-to excludes --production and --sandbox.")
        }
        try self.token.validate(
            hasCertificate: self.migration.hasIdentity(of: .http2),
            of: "--http2-cert and --http2-p12",
            for: "HTTP/2"
        )
    }

    func migratingConfiguration() throws -> (configuration: MigratingConfiguration, shareFile: ShareFile?) {
        var binary = self
        binary.backend = .binary
        self.migration.put(optionsOf: .binary, into: &binary)
        var http2 = self
        http2.backend = .http2
        http2.config = nil
        if self.token.areGiven {
            // A certificate for both sides is then for the gateway alone: HTTP/2 takes a token or a certificate.
            http2.credentials = CredentialOptions()
        }
        self.migration.put(optionsOf: .http2, into: &http2)
        try http2.validateHTTP2Server()
        let file = try self.migration.text("share-file").map { try ShareFile($0) }
        var options = MigrationOptions(rule: MigrationRule(share: file?.share ?? self.migration["share"]?.number ?? 0))
        if self.migration.isGiven("fallback") { options.fallback = MigrationOptions.Fallback() }
        if let downAfter = self.migration["down-after"] { options.fallback?.downAfter = downAfter.time }
        options.deadline = self.http2["deadline"]?.time
        var configuration = MigratingConfiguration(
            binary: try binary.binaryConfiguration(),
            http2: try http2.http2Configuration(),
            options: options,
            outcomes: .discard
        )
        configuration.loopCount = configuration.binary.loopCount
        configuration.logger = .silent
        return (configuration, file)
    }
}
