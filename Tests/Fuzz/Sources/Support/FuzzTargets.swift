/// The fuzz targets by name. A target is a function in the file of its name, in `Targets`. It reads an input, and stops the
/// process if its property does not hold. `Corpora` has a folder of committed inputs for each.
let fuzzTargets: [String: @Sendable (inout FuzzInput) -> Void] = [
    "APNsBytes": fuzzAPNsBytes,
    "Answers": fuzzAnswers,
    "AppStorePosts": fuzzAppStorePosts,
    "CCalls": fuzzCCalls,
    "ClientMachine": fuzzClientMachine,
    "ErrorResponses": fuzzErrorResponses,
    "Feedback": fuzzFeedback,
    "GatewayBytes": fuzzGatewayBytes,
    "GatewayScripts": fuzzGatewayScripts,
    "HTTP2Schedules": fuzzHTTP2Schedules,
    "JSONTexts": fuzzJSONTexts,
    "Notifications": fuzzNotifications,
    "ProxyHeaders": fuzzProxyHeaders,
    "PushLines": fuzzPushLines,
    "ReplayedBytes": fuzzReplayedBytes,
    "Schedules": fuzzSchedules,
    "SessionBytes": fuzzSessionBytes,
    "Transcripts": fuzzTranscripts,
]
