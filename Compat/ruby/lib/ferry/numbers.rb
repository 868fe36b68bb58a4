# frozen_string_literal: true

# Made by Compat/generate from the header of libferry, which explains each number. Do not change it here.
module Ferry
  EHANDLE = -1
  EINVAL = -2
  EINTR = -3
  EFORKED = -4
  ECLOSED = -5
  EOPTIONS = -6
  ESYSTEM = -7
  ETIME = -8
  EPEER = -9
  RECORD_HEADER = 24
  RECORD_EXPIRATION = 1
  RECORD_APNS_ID = 2
  PUSH_ALERT = 1
  PUSH_BACKGROUND = 2
  PUSH_LOCATION = 3
  PUSH_VOIP = 4
  PUSH_COMPLICATION = 5
  PUSH_FILE_PROVIDER = 6
  PUSH_MDM = 7
  PUSH_LIVE_ACTIVITY = 8
  PUSH_PUSH_TO_TALK = 9
  PUSH_WIDGETS = 10
  PUSH_CONTROLS = 11
  ACCEPTED = 1
  REJECTED = 2
  EXPIRED = 3
  UNDELIVERED = 4
  UNCERTAIN = 5
  CONFIRMED = 1
  PRESUMED = 2
  ORIGIN_GATEWAY = 1
  ORIGIN_APNS = 2
  ORIGIN_FERRY = 3
  ORIGIN_INFERRED = 4
  CAUSE_SHUT_DOWN = 1
  CAUSE_CANCELLED = 2
  CAUSE_EVICTED = 3
  CAUSE_DISCARDED = 4
  CAUSE_CREDENTIALS = 5
  CAUSE_NO_CONNECTION = 6
  CAUSE_RELEASED = 7
  CAUSE_DEADLINE = 8
  CAUSE_POSITION_UNKNOWN = 9
  CAUSE_PEER_CLOSES = 10
  CAUSE_NOT_REPEATED = 11
  CAUSE_NO_ANSWER = 12
  CAUSE_RESET = 13
  CAUSE_OTHER = 255
  OUTCOME_APNS_ID = 1
  READY_OUTCOMES = 1
  READY_EVENT = 2
  READY_ROOM = 4
  READY_SETTLED = 8
  FEEDBACK_TUPLE = 106

  PUSH_TYPES = { none: 0, alert: 1, background: 2, location: 3, voip: 4, complication: 5, fileprovider: 6, mdm: 7,
    liveactivity: 8, pushtotalk: 9, widgets: 10, controls: 11 }.freeze
  ENVIRONMENT = [
    { 'production' => 'FERRY_PRODUCTION', 'host' => 'FERRY_HOST', 'port' => 'FERRY_PORT' },
    { 'p8' => 'FERRY_P8', 'keyId' => 'FERRY_KEY_ID', 'teamId' => 'FERRY_TEAM_ID', 'tokenFile' => 'FERRY_TOKEN_FILE',
     'cert' => 'FERRY_CERT', 'key' => 'FERRY_KEY', 'passphrase' => 'FERRY_PASSPHRASE', 'pfx' => 'FERRY_PFX' },
    { 'backend' => 'FERRY_BACKEND' },
    { 'topic' => 'FERRY_TOPIC' },
    { 'ca' => 'FERRY_CA' },
    { 'proxy' => 'FERRY_PROXY' },
    { 'config' => 'FERRY_CONFIG' },
  ].freeze

  class Outcome
    # The words of each number.
    NAMES = [nil, :accepted, :rejected, :expired, :undelivered, :uncertain].freeze
    ACCEPTANCES = [nil, :confirmed, :presumed].freeze
    ORIGINS = [nil, :gateway, :apns, :ferry, :inferred].freeze
    CAUSES = [nil, :shut_down, :cancelled, :evicted, :discarded, :credentials, :no_connection, :released,
      :deadline, :position_unknown, :peer_closes, :not_repeated, :no_answer, :reset].freeze
  end
end
