/// Why options cannot be used, as one sentence without a secret.
struct OptionsFault: Error {
    var sentence: String

    init(_ sentence: String) { self.sentence = sentence }
}
