/// The events of the gateway's log, beside ``ServerLogEvent``. `Docs/commands/gateway.md` says what each means.
enum GatewayLogEvent: String, CaseIterable {
    case topicAlarm, topicAlarmOver
    case upstreamAlarm, upstreamAlarmOver
    case storeAlarm, storeAlarmOver, storeTaken
    case listAlarm, listAlarmOver, listFull
    case lost, uncertain
    case badFrame, lengthInCharacters
    case refusedClient, doctor, emptyConnection
    case upstream, proxy
    case reloaded, reloadRefused
    case copied, restored
    case shardTaken, shardReleased, shardWanted, shardFenced, shardStopped, shardResumed, shardTrouble, shardRefused
    case shardTroubleOver, shardOwnerless, shardClock, shardNamesake, misrouted
    case recovered, stopping, stopped, kept, lostInAll, listKept, listLost
}
