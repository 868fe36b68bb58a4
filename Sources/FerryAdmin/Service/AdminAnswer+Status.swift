internal import FerryPlatform

extension AdminAnswer {
    /// The answer to `GET /status`.
    package init(status: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let json = try? encoder.encode(status) else {
            self.init(status: 500, "The status cannot be written as JSON.")
            return
        }
        self.init(json: Array(json))
    }

    package init(_ health: Health) { self.init(status: health.isGood ? 200 : 503, health.sentence) }
}
