internal import ArgumentParser
internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryHTTP1
internal import FerryPlatform
internal import FerryTerminal

/// The command `ferry gateway reload`.
struct GatewayReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Lets a gateway that runs read its configuration again.",
        discussion: """
            Asks the gateway over its admin socket, and waits for the result. The gateway takes the configuration wholly, \
            or not at all. SIGHUP does the same without a result.

            The exit status is 0 if the configuration was taken, 2 if it was not and nothing changed, and 3 if nobody \
            answers.

            Examples:
              ferry gateway reload --config gateway.json
              ferry gateway reload --socket /run/ferry-gateway/gateway-admin --json
            """
    )

    @ParentCommand var gateway: GatewayCommand
    @OptionGroup var place: AdminSocketOptions

    @Flag(help: "Print the result as one JSON object.")
    var json = false

    func run() async throws {
        try await self.gateway.reportingFailure {
            let answer = try await self.answer()
            if self.json {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                try Console.printList(String(decoding: try encoder.encode(answer), as: UTF8.self))
            } else {
                try Console.printList(([answer.sentence] + answer.warnings).joined(separator: "\n").printable)
            }
            guard answer.isTaken else { throw ExitStatus.badUsage }
        }
    }

    private func answer() async throws -> ReloadAnswer {
        let client = try self.place.client(of: self.gateway)
        let response: HTTPClientResponse
        do throws(HTTPClientError) {
            response = try await client.post("/reload")
        } catch {
            throw CommandFailure(.noConnection, "The gateway does not answer: \(error.description)")
        }
        guard [200, 409].contains(response.status),
            let answer = try? JSONDecoder().decode(ReloadAnswer.self, from: Data(response.body))
        else {
            throw CommandFailure(
                .noConnection,
                "The gateway answers with status \(response.status), and takes no reload."
            )
        }
        return answer
    }
}
