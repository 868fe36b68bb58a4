# frozen_string_literal: true

# Drop-in for grocer 0.7: the same names, over libferry. README.md has the differences.

require 'ferry/sender'
require 'json'

module Grocer
  VERSION = '0.7.1'

  Error = Class.new(StandardError)
  InvalidFormatError = Class.new(Error)
  NoGatewayError = Class.new(Error)
  NoPayloadError = Class.new(Error)
  NoPortError = Class.new(Error)
  PayloadTooLargeError = Class.new(Error)
  InvalidCommandError = Class.new(Error)
  # Extends the error of a push whose certificate has expired.
  CertificateExpiredError = Module.new

  class << self
    def env
      ENV['RAILS_ENV'] || ENV['RACK_ENV'] || 'development'
    end

    def pusher(options)
      Pusher.new(options)
    end

    def feedback(options)
      Feedback.new(options)
    end

    def server(*)
      raise NotImplementedError, 'Grocer.server is not kept: use `ferry simulate --binary 2195 --tls-dir DIR`'
    end

    # New: calls the block with each notification that was rejected, has expired or may not have arrived, and its
    # Ferry::Outcome. Not if `push` raises because its notification was not delivered. The block runs in `push`, in a
    # thread of its own, or at the end of the process.
    def on_failure(&block)
      @on_failure = block
    end

    def const_missing(name)
      return super unless NOT_KEPT.include?(name)
      raise NotImplementedError, "Grocer::#{name} is not kept: use Grocer.pusher or Grocer.feedback"
    end

    # What the sender tells of notifications.
    def taken(_notification, _line); end

    def settled(notification, outcome, raises)
      return true if raises || outcome.accepted? || outcome.status == 410 # 410: it is in the feedback list.
      return false unless @on_failure
      begin
        @on_failure.call(notification, outcome)
      rescue StandardError => e
        # Nobody stands above it who could rescue it: in `push` it would look as if that had failed.
        warn "grocer: the block of on_failure raised #{e.class}: #{e.message}"
      end
      true
    end

    def failures_wanted?
      !@on_failure.nil?
    end
  end

  NOT_KEPT = %i[Connection ErrorResponse FeedbackConnection NotificationReader PushConnection SSLConnection SSLServer
                Server].freeze

  # What pusher and feedback have in common: their options.
  module Options
    attr_reader :passphrase, :gateway, :port

    def initialize(options)
      options = options.transform_keys(&:to_sym)
      @certificate = options[:certificate]
      @passphrase = options[:passphrase]
      @gateway = options.fetch(:gateway) { default_gateway }
      @port = options.fetch(:port, default_port)
      @retries = options.fetch(:retries, 3)
      @wait = options[:wait]
    end

    private

    # The PEM text. Read when it is needed first, as there.
    def certificate
      return @text if @text || @certificate.nil?
      return @text = File.read(@certificate) unless @certificate.respond_to?(:read)
      @text = @certificate.read
      @certificate.rewind if @certificate.respond_to?(:rewind)
      @text
    end

    def options(others = {})
      Ferry::Sender.options(gateway, port, others.merge(passphrase: passphrase))
    end
  end

  class Pusher
    include Options

    # Returns the length of the notification in bytes, as there.
    def push(notification)
      record = notification.record
      sender.push([[notification, record]])
      Notification::FRAME_SIZE + record[:payload].bytesize
    rescue StandardError => e
      e.extend(CertificateExpiredError) if e.message =~ /certificate.*expired/i
      raise
    ensure
      Ferry::Sender.watch if Grocer.failures_wanted?
    end

    private

    # `retries` counts attempts to connect, and the option of Ferry those that may fail.
    def sender
      @sender ||= Ferry::Sender.for(
        'grocer', options(connectionRetryLimit: [@retries - 1, 0].max, wait: @wait), certificate, Grocer
      )
    end

    def default_gateway
      case Grocer.env.downcase
      when 'production' then 'gateway.push.apple.com'
      when 'test' then '127.0.0.1'
      else 'gateway.sandbox.push.apple.com'
      end
    end

    def default_port
      2195
    end
  end

  # A device that is gone, and since when.
  FailedDeliveryAttempt = Struct.new(:timestamp, :device_token)

  class Feedback
    include Options
    include Enumerable

    def each
      return enum_for(:each) unless block_given?
      file = Ferry::Sender.certificate_file(certificate)
      list = Ferry::Feedback.new(Ferry::Sender.with_file(options, file))
      Ferry::Sender.checking(certificate, passphrase) do
        list.each { |token, time| yield FailedDeliveryAttempt.new(Time.at(time), token) }
      end
    ensure
      file.close if file
    end

    private

    def default_gateway
      Grocer.env == 'production' ? 'feedback.push.apple.com' : 'feedback.sandbox.push.apple.com'
    end

    def default_port
      2196
    end
  end

  class Notification
    MAX_PAYLOAD_SIZE = 2048
    # Of command 1, without the payload.
    FRAME_SIZE = 45

    attr_accessor :identifier, :expiry, :device_token, :alert, :badge, :custom, :sound, :category
    attr_reader :content_available, :mutable_content

    def initialize(payload = {})
      @identifier = 0
      payload.each { |name, value| public_send("#{name}=", value) }
    end

    def content_available=(value)
      @content_available = value ? 1 : nil
    end

    def mutable_content=(value)
      @mutable_content = value ? 1 : nil
    end

    def content_available?
      !content_available.nil?
    end

    def mutable_content?
      !mutable_content.nil?
    end

    # The frame of the binary protocol. `push` does not use it.
    def to_bytes
      validate_payload
      json = JSON.dump(payload_hash)
      [1, identifier, expiry.to_i, 32, digits, json.bytesize, json.b].pack('CNNnH64na*')
    end

    # What Ferry sends: as `to_bytes`, but a token keeps its length.
    def record
      validate_payload
      { token: Ferry::Sender.token(digits), payload: JSON.dump(payload_hash), expiration: expiry.to_i }
    end

    def validate_payload
      raise NoPayloadError unless alert || badge || custom
      check_size
    end

    def valid?
      validate_payload
    rescue StandardError
      false
    end

    private

    def check_size(limit = MAX_PAYLOAD_SIZE)
      raise PayloadTooLargeError if JSON.dump(payload_hash).bytesize > limit
      true
    end

    def digits
      device_token.to_s.tr(' ', '')
    end

    def payload_hash
      aps = {}
      aps[:alert] = alert if alert
      aps[:badge] = badge if badge
      aps[:sound] = sound if sound
      aps[:'content-available'] = content_available if content_available
      aps[:'mutable-content'] = mutable_content if mutable_content
      aps[:category] = category if category
      { aps: aps }.merge(custom || {})
    end
  end

  # Needs a device token only.
  class PassbookNotification < Notification
    def validate_payload
      check_size(65_535)
    end
  end

  # Needs a device token only.
  class NewsstandNotification < Notification
    def initialize(payload = {})
      super(payload.merge(content_available: true))
    end

    def validate_payload
      check_size(65_535)
    end
  end

  # Needs `push_magic`, and has nothing else.
  class MobileDeviceManagementNotification < Notification
    attr_accessor :push_magic

    def validate_payload
      raise NoPayloadError unless push_magic
      raise InvalidFormatError if alert || badge || custom
      check_size
    end

    private

    def payload_hash
      { mdm: push_magic }
    end
  end

  # For web sites in Safari.
  class SafariNotification < Notification
    def initialize(payload = {})
      @alert = {}
      super
    end

    %i[title body action].each do |name|
      define_method(name) { alert[name] }
      define_method("#{name}=") { |value| alert[name] = value }
    end

    def url_args
      Array(@url_args)
    end

    def url_args=(args)
      @url_args = args.dup
    end

    def validate_payload
      raise ArgumentError, 'missing title' unless title
      raise ArgumentError, 'missing body' unless body
      super
    end

    private

    def payload_hash
      { aps: { alert: alert, 'url-args': url_args } }
    end
  end
end
