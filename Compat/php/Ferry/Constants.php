<?php
// Made by Compat/generate from the header of libferry, which explains each number. Do not change it here.

namespace Ferry;

interface Constants
{
    const EHANDLE = -1;
    const EINVAL = -2;
    const EINTR = -3;
    const EFORKED = -4;
    const ECLOSED = -5;
    const EOPTIONS = -6;
    const ESYSTEM = -7;
    const ETIME = -8;
    const EPEER = -9;
    const RECORD_HEADER = 24;
    const RECORD_EXPIRATION = 1;
    const RECORD_APNS_ID = 2;
    const PUSH_ALERT = 1;
    const PUSH_BACKGROUND = 2;
    const PUSH_LOCATION = 3;
    const PUSH_VOIP = 4;
    const PUSH_COMPLICATION = 5;
    const PUSH_FILE_PROVIDER = 6;
    const PUSH_MDM = 7;
    const PUSH_LIVE_ACTIVITY = 8;
    const PUSH_PUSH_TO_TALK = 9;
    const PUSH_WIDGETS = 10;
    const PUSH_CONTROLS = 11;
    const ACCEPTED = 1;
    const REJECTED = 2;
    const EXPIRED = 3;
    const UNDELIVERED = 4;
    const UNCERTAIN = 5;
    const CONFIRMED = 1;
    const PRESUMED = 2;
    const ORIGIN_GATEWAY = 1;
    const ORIGIN_APNS = 2;
    const ORIGIN_FERRY = 3;
    const ORIGIN_INFERRED = 4;
    const CAUSE_SHUT_DOWN = 1;
    const CAUSE_CANCELLED = 2;
    const CAUSE_EVICTED = 3;
    const CAUSE_DISCARDED = 4;
    const CAUSE_CREDENTIALS = 5;
    const CAUSE_NO_CONNECTION = 6;
    const CAUSE_RELEASED = 7;
    const CAUSE_DEADLINE = 8;
    const CAUSE_POSITION_UNKNOWN = 9;
    const CAUSE_PEER_CLOSES = 10;
    const CAUSE_NOT_REPEATED = 11;
    const CAUSE_NO_ANSWER = 12;
    const CAUSE_RESET = 13;
    const CAUSE_OTHER = 255;
    const OUTCOME_APNS_ID = 1;
    const READY_OUTCOMES = 1;
    const READY_EVENT = 2;
    const READY_ROOM = 4;
    const READY_SETTLED = 8;
    const FEEDBACK_TUPLE = 106;
    const ENVIRONMENT = [
        ['production' => 'FERRY_PRODUCTION', 'host' => 'FERRY_HOST', 'port' => 'FERRY_PORT'],
        ['p8' => 'FERRY_P8', 'keyId' => 'FERRY_KEY_ID', 'teamId' => 'FERRY_TEAM_ID',
         'tokenFile' => 'FERRY_TOKEN_FILE', 'cert' => 'FERRY_CERT', 'key' => 'FERRY_KEY',
         'passphrase' => 'FERRY_PASSPHRASE', 'pfx' => 'FERRY_PFX'],
        ['backend' => 'FERRY_BACKEND'],
        ['topic' => 'FERRY_TOPIC'],
        ['ca' => 'FERRY_CA'],
        ['proxy' => 'FERRY_PROXY'],
        ['config' => 'FERRY_CONFIG'],
    ];
}
