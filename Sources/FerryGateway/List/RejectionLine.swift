internal import FerryCore

/// One line of the list of rejections: a JSON object. Programs that read the list rely on its form, so the form is
/// defined only here.
struct RejectionLine {
    /// The longest text in a line, in bytes before escaping. APNs' reasons have fewer than 30, and names of clients at
    /// most 255.
    static let textLimit = 300

    /// The names of the clients, as JSON strings. If a listener names the upstream of a client, the name of the
    /// upstream follows as a member of its own.
    private let clients: [String]

    init(clients: [String]) { self.clients = clients.map(Self.string) }

    init(identities: [ClientIdentity]) {
        self.clients = identities.map { client in
            let upstream = client.listenerUpstream.map { #","upstream":\#(Self.string($0))"# } ?? ""
            return Self.string(client.name) + upstream
        }
    }

    /// Returns the line of an event with its line break; nil if the list has no line for the event.
    ///
    /// - Parameter seconds: the time of the event, in UNIX seconds.
    func bytes(of event: GatewayEvent, at seconds: UInt32) -> [UInt8]? {
        let members: String
        switch event {
        case .refused(let refusal): members = self.members("rejected", refusal)
        case .deadLetter(let refusal): members = self.members("deadLetter", refusal)
        case .gone(let identity, let topic, let token, let since):
            members =
                #""event":"gone","client":\#(self.clients[identity]),"topic":\#(Self.string(topic)),"#
                + #""token":"\#(token.hexadecimal)","time":\#(since)"#
        case .uncertain(let item, let again):
            members = self.members("uncertain", item) + #","again":\#(again)"#
        case .expired(let item): members = self.members("expired", item)
        default: return nil
        }
        return Array("{\(members),\"at\":\(seconds)}\n".utf8)
    }

    private func members(_ event: String, _ item: GatewayEvent.Item) -> String {
        #""event":"\#(event)","client":\#(self.clients[item.identity]),"token":"\#(item.token.hexadecimal)","#
            + #""topic":\#(Self.string(item.topic)),"apnsId":"\#(item.apnsID)""#
    }

    private func members(_ event: String, _ refusal: GatewayEvent.Refusal) -> String {
        let token = refusal.token.map { #""\#($0.hexadecimal)""# } ?? "null"
        let status = refusal.status.map { "\($0.rawValue)" } ?? "null"
        let apnsID = refusal.apnsID.map { #""\#($0)""# } ?? "null"
        return
            #""event":"\#(event)","client":\#(self.clients[refusal.identity]),"token":\#(token),"#
            + #""reason":\#(Self.string(refusal.reason.rawValue)),"status":\#(status),"apnsId":\#(apnsID)"#
    }

    /// Whether the bytes begin as a line of this list begins.
    static func begins(_ bytes: some Collection<UInt8>) -> Bool {
        let start = #"{"event":""#.utf8
        return bytes.starts(with: start.prefix(bytes.count))
    }

    /// Makes a JSON string of the first ``textLimit`` bytes. The text may come from APNs. Without escapes, a quotation
    /// mark in the text would end the string, and a line break would begin a false line.
    private static func string(_ text: String) -> String {
        String(decoding: JSONText.quoted(String(text.beginning(utf8: Self.textLimit))), as: UTF8.self)
    }
}
