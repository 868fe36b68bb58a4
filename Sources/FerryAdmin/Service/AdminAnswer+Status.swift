internal import FerryPlatform

extension AdminAnswer {
    /// An answer of one JSON object, with sorted members; an answer with status 500 if the value cannot be encoded.
    package init(encoding value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let json = try? encoder.encode(value) else {
            self.init(status: 500, "The answer cannot be written as JSON.")
            return
        }
        self.init(json: Array(json))
    }

    package init(_ health: Health) { self.init(status: health.isGood ? 200 : 503, health.sentence) }
}
