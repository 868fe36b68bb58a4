/// The name of a problem, for programs that read the doctor's JSON. Published names never change.
enum Problem: String, Sendable, Encodable, CaseIterable {
    // The path to the host.
    case serviceRetired
    case nameNotFound, resolverSilent
    case portClosed, portFiltered, unreachable, addressFails

    // A proxy on the path.
    case proxyRefuses, proxyWantsPassword, proxyRefusesPassword, proxySilent, proxyCloses, noProxy

    // TLS.
    case silentPort, plainText, closedInHandshake, handshakeFails
    case noCommonCipher, onlyOldTLS, oldTLSOffered, onlyTLS13, noApplicationProtocol

    // HTTP/2.
    case noStreams, silentHTTP2, brokenHTTP2, closedBeforeSettings

    // The server's certificate.
    case wrongName, selfSigned, unknownIssuer, otherIssuer, weakCertificate, chainRefused
    case pathTooLong, nameConstraint, wrongPurpose, notAnAuthority

    // The client's certificate as the server sees it.
    case clientCertificateMissing, clientCertificateRefused, clientCertificateNotAsked, closedAfterHandshake

    // A receiver of App Store Server Notifications.
    case plainHTTP, unusualPort, missingIntermediate
    case noAnswer, notHTTP1, oldHTTP, slowAnswer, largeBodyRefused, verifiesNothing
    case redirect, needsLogin, forbidden, pathNotFound, postNotAllowed, lengthRequired, contentTypeRefused
    case tooManyRequests, serverError, otherStatus

    // Any certificate.
    case expired, notYetValid, expiresSoon

    // Files.
    case fileMissing, fileUnreadable, wrongKindOfFile, damaged, keyMissing, permissionsOpen
    case passphraseMissing, wrongPassphrase, oldArchive, oldArchiveUnreadable

    // The content of the files.
    case severalKeys, keyMismatch, weakKey, unusable, notFromApple, noTopic, wrongEnvironment
    case notP256, notPKCS8, doesNotSign, malformedID, otherKeyID
}
