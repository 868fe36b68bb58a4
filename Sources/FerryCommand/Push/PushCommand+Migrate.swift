internal import ArgumentParser
internal import Ferry
internal import FerryTerminal
internal import Logging

/// The settings of `ferry push --backend migrate`.
extension PushCommand {
    func validateMigration() throws {
        guard self.server.to == nil else {
            throw ValidationError("--to names no side: use --binary-to and, if not Apple's, --http2-to.")
        }
        guard self.migration.binaryTo != nil || self.config != nil else {
            throw ValidationError("Say where the gateway of the binary protocol is: --binary-to HOST:PORT.")
        }
        guard self.migration.http2To != nil || self.server.production || self.server.sandbox else {
            throw ValidationError("Say where to send over HTTP/2: --http2-to HOST:PORT, --production or --sandbox.")
        }
        if self.migration.http2To != nil, self.server.production || self.server.sandbox {
            throw ValidationError("--http2-to excludes --production and --sandbox.")
        }
        if self.token.areGiven, self.migration.http2Cert != nil || self.migration.http2P12 != nil {
            throw ValidationError(
                "\(self.token.given.first ?? "--p8") excludes --http2-cert and --http2-p12: HTTP/2 takes a provider token or a "
                    + "certificate."
            )
        }
        try self.token.validateIdentifiers()
    }

    func migratingConfiguration() throws -> (configuration: MigratingConfiguration, shareFile: ShareFile?) {
        var binary = self
        binary.backend = .binary
        self.migration.apply(of: .binary, to: &binary)
        var http2 = self
        http2.backend = .http2
        http2.config = nil
        if self.token.areGiven {
            // A certificate for both sides is the gateway's then: HTTP/2 takes one or the other.
            http2.credentials.cert = nil
            http2.credentials.key = nil
            http2.credentials.p12 = nil
            http2.credentials.passphraseFile = nil
        }
        self.migration.apply(of: .http2, to: &http2)
        try http2.validateHTTP2Server()
        let file = try self.migration.shareFile.map { try ShareFile($0) }
        var options = MigrationOptions(rule: MigrationRule(share: file?.share ?? self.migration.share ?? 0))
        if self.migration.fallback { options.fallback = MigrationOptions.Fallback() }
        if let downAfter = self.migration.downAfter { options.fallback?.downAfter = downAfter.duration }
        options.deadline = self.http2.deadline?.duration
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
