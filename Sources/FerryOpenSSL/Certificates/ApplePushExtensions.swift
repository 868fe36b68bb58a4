/// Apple's certificate extensions for push services (arc 1.2.840.113635.100.6.3 of its certification practice
/// statement).
package enum ApplePushExtension: String, Sendable, CaseIterable {
    /// The certificate is for the sandbox.
    case sandbox = "1.2.840.113635.100.6.3.1"
    /// The certificate is for production.
    case production = "1.2.840.113635.100.6.3.2"
    /// The certificate is for VoIP pushes.
    case voip = "1.2.840.113635.100.6.3.4"
    /// The certificate is for watch complications.
    case complication = "1.2.840.113635.100.6.3.5"
    /// The certificate lists its topics.
    case topics = "1.2.840.113635.100.6.3.6"
}

/// Reads the list of topics in extension 1.2.840.113635.100.6.3.6.
///
/// ```
/// SEQUENCE { UTF8String topic, SEQUENCE { UTF8String kind, … }, UTF8String topic, … }
/// ```
///
/// The kind is "app", "voip", "complication" and the like. A pair that is wrapped in another sequence is read too.
/// Anything else is skipped, because the list only informs.
func appleTopics(_ value: [UInt8]) -> [CertificateSummary.Topic] {
    var topics: [CertificateSummary.Topic] = []
    func collect(_ elements: [DERReader.Element]) {
        var name: String?
        for element in elements {
            if let text = element.text {
                if let name { topics.append(.init(name: name, kinds: [])) }
                name = text
            } else if element.isSequence {
                let inner = DERReader.elements(element.contents)
                if let topic = name {
                    topics.append(.init(name: topic, kinds: inner.compactMap(\.text)))
                    name = nil
                } else {
                    collect(inner)
                }
            }
        }
        if let name { topics.append(.init(name: name, kinds: [])) }
    }
    collect(DERReader.elements(ofSequence: value))
    return topics
}

/// Returns the DER form of a list of topics: the reverse of ``appleTopics(_:)``.
func appleTopicsDER(_ topics: [CertificateSummary.Topic]) -> [UInt8] {
    func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        let count = contents.count
        let length: [UInt8] =
            count < 0x80
            ? [UInt8(count)] : [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        return [tag] + length + contents
    }
    let body = topics.flatMap { topic in
        element(0x0C, Array(topic.name.utf8))
            + element(0x30, topic.kinds.flatMap { element(0x0C, Array($0.utf8)) })
    }
    return element(0x30, body)
}
