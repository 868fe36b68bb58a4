# frozen_string_literal: true

module Ferry
  # The statuses of error responses, in Apple's words.
  STATUSES = {
    0 => 'No errors encountered',
    1 => 'Processing error',
    2 => 'Missing device token',
    3 => 'Missing topic',
    4 => 'Missing payload',
    5 => 'Invalid token size',
    6 => 'Invalid topic size',
    7 => 'Invalid payload size',
    8 => 'Invalid token',
    10 => 'Shutdown'
  }.freeze
end
