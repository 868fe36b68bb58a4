# frozen_string_literal: true

require 'ferry/frames'
require 'grocer/mobile_device_management_notification'
require 'grocer/notification'
require 'grocer/safari_notification'

module Grocer
  # Reads what a client writes: frames of the commands 0, 1 and 2.
  class NotificationReader
    include Enumerable

    # What `aps` may have. Other names are left out.
    NAMES = %i[alert badge sound category content_available mutable_content url_args].freeze

    def initialize(io)
      @io = io
      @frames = Ferry::Frames.new
    end

    # Calls the block with each notification, until the client closes.
    def each
      loop { @frames.take(@io.readpartial(16_384)) { |frame| yield notification(frame) } }
    rescue EOFError
      nil
    end

    private

    def notification(frame)
      custom = JSON.parse(frame.payload, symbolize_names: true)
      common = { identifier: frame.identifier || 0, device_token: frame.token,
                 expiry: Time.at(frame.expiration || 0) }
      magic = custom.delete(:mdm)
      return MobileDeviceManagementNotification.new(common.merge(push_magic: magic)) if magic
      aps = (custom.delete(:aps) || {}).transform_keys { |name| name.to_s.tr('-', '_').to_sym }.slice(*NAMES)
      return SafariNotification.new(common.merge(aps)) if aps[:url_args]
      Notification.new(common.merge(aps).merge(custom: custom))
    end
  end
end
