/// Ferry at work: each part starts simulated servers, sends to them over real TLS, lets things go wrong, and compares
/// what both sides counted.
package enum Demo {
    /// Plays all parts, and tells what happens on standard output.
    ///
    /// - Throws: the error that ends a part early.
    package static func run() async throws -> DemoReport {
        let narrator = DemoNarrator()
        var report = try await BinaryDemo(narrator: narrator).run()
        report.rows += try await HTTP2Demo(narrator: narrator).run().rows
        report.rows += try await GatewayDemo(narrator: narrator).run().rows
        report.rows += try await MigrationDemo(narrator: narrator).run().rows
        report.rows += try await AppStoreDemo(narrator: narrator).run().rows
        return report
    }
}
