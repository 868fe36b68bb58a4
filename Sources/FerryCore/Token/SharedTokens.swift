/// The place where all processes with a key keep its provider token, so that APNs sees one token of all of them.
///
/// The place keeps one token for each team and key. It takes an offer if it has none, and otherwise only
///
/// * if the token that stands there is 50 minutes old,
/// * or if the offer names that token as worn, and it is 20 minutes old. So a token that APNs refused is replaced once, and
///   the other processes get the new one.
///
/// It takes no offer whose time differs from the place's clock by more than five minutes: APNs would refuse the token of a
/// wrong clock in every process.
///
/// The place judges every age and tells it with the token, because the clocks of two computers differ.
///
/// In PostgreSQL these are two statements, each a transaction. The second one must see a row that another process has just
/// written, and a single statement would not.
///
/// ```sql
/// insert into ferry.provider_token as p
///   select $1, $2, $3, now() where abs(extract(epoch from now()) - $4) <= 300
///   on conflict (team, key_id) do update set jwt = excluded.jwt, minted_at = excluded.minted_at
///   where p.minted_at < now() - interval '50 min' or p.jwt = $5 and p.minted_at < now() - interval '20 min';
/// select jwt, (extract(epoch from now() - minted_at) * 1000)::bigint
///   from ferry.provider_token where team = $1 and key_id = $2;
/// ```
package protocol SharedTokens: Sendable {
    /// Offers a token, and gets the one that stands in the place then. It may be the offer.
    ///
    /// Called on an event loop. It must not wait.
    ///
    /// - Parameter then: called once, on any thread; with nil if the place is away, or has no token. An answer after three
    ///   seconds may come too late.
    func exchange(_ offer: TokenOffer, then: @escaping @Sendable (SharedToken?) -> Void)
}

/// A fresh provider token that a process would like all processes to use.
///
/// No description shows a token.
package struct TokenOffer: Sendable {
    package var teamID: String
    package var keyID: String
    /// The token, without `bearer`.
    package var token: String
    /// The time inside the token (`iat`), in seconds since the UNIX epoch.
    package var issuedAt: UInt32
    /// The token that APNs has refused to this process, or that is an hour old; nil if its token is good.
    package var worn: String?

    package init(teamID: String, keyID: String, token: String, issuedAt: UInt32, worn: String?) {
        (self.teamID, self.keyID, self.token, self.issuedAt, self.worn) = (teamID, keyID, token, issuedAt, worn)
    }
}

/// The token that stands in the place.
///
/// No description shows the token.
package struct SharedToken: Sendable {
    /// The token, without `bearer`.
    package var token: String
    /// Its age by the place's clock.
    package var age: Duration

    package init(token: String, age: Duration) { (self.token, self.age) = (token, age) }
}

extension TokenOffer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "an offer of a provider token of key \(self.keyID)" }

    package var debugDescription: String { self.description }

    package var customMirror: Mirror { Mirror(self, children: ["keyID": self.keyID, "teamID": self.teamID]) }
}

extension SharedToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "a provider token, \(self.age.components.seconds) s old" }

    package var debugDescription: String { self.description }

    package var customMirror: Mirror { Mirror(self, children: ["age": self.age]) }
}
