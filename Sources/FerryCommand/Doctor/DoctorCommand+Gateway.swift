internal import ArgumentParser
internal import FerryCore
internal import FerryDoctor
internal import FerryOpenSSL
internal import FerryTerminal

/// The upstreams of a gateway, examined one after the other.
extension DoctorCommand {
    func validateGateway() throws {
        let own = [
            ("HOST:PORT", self.target != nil), ("--config", self.config != nil), ("--http2", self.http2),
            ("--environment", self.environment != nil),
        ].filter(\.1).map(\.0)
        let given =
            own + self.server.given + self.credentials.given + self.token.given
            + self.proxy.given
        guard given.isEmpty else {
            throw ValidationError(
                "\(given.listed) \(given.count == 1 ? "does" : "do") not fit --gateway, whose file has it; --timeout and "
                    + "--json do."
            )
        }
    }

    /// Prints the report of each upstream. Ends with the first of the statuses 2, 3 and 1 that a report has.
    func examineGateway(_ config: String) async throws {
        let plan = try GatewayCommand.plan(of: config)
        plan.sayProxies { Console.error($0) }
        var reports: [(name: String, report: DoctorReport)] = []
        do {
            for (name, examination) in plan.examinations(limit: self.timeout.duration) {
                reports.append((name, try await examination.report()))
            }
        } catch let error as TLSError {
            throw CommandFailure.usage(ConnectionAdvice.sentence(error))
        }
        if self.json {
            let members = try reports.map { name, report -> String in
                let object = try report.json()
                return "\(String(decoding: JSONText.quoted(name), as: UTF8.self)):\(object)"
            }
            try Console.print("{\"upstreams\":{\(members.joined(separator: ","))}}")
        } else {
            let texts = reports.map { name, report in "upstreams.\(name):\n\(report.text)" }
            try Console.print(texts.joined(separator: "\n\n"))
        }
        let statuses = Set(reports.map(\.report.status))
        // In this order, as for a single host: a file that cannot be read decides first.
        for status in [ExitStatus.badUsage, .noConnection, .notAllAccepted] where statuses.contains(status) {
            throw status
        }
    }
}
