extension HTTP2Session {
    /// Returns the answer on a stream, even if incomplete; nil when there was no final status.
    package func answer(of stream: Stream) -> PushAnswer? {
        guard self.hasFinalFields(stream) else { return nil }
        var decoder = AnswerDecoder()
        self.forEachField(of: stream) { decoder.field($0, $1) }
        return self.withBody(of: stream) { decoder.answer(body: $0) }
    }
}
