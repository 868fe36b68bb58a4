# frozen_string_literal: true

# Ferry for Ruby: push notifications to APNs through libferry. README.md has a first program.

raise LoadError, "Ferry needs Ruby 2.5 or later, and this is Ruby #{RUBY_VERSION}." if (RUBY_VERSION.split('.').map(&:to_i) <=> [2, 5]) < 0

require 'fiddle'
require 'json'
require 'rbconfig'

module Ferry
  VERSION = '0.2.0'

  # What libferry said. `code` is one of the numbers FERRY_E... of ferry.h, nil for a fault that Ruby found.
  class Error < StandardError
    attr_reader :code

    def initialize(message, code = nil)
      super(message)
      @code = code
    end
  end

  OptionsError = Class.new(Error) # the options are wrong
  ClosedError = Class.new(Error)  # the provider was closed, or freed
  ForkedError = Class.new(Error)  # the provider belongs to the parent process

  EINTR = -3
  ETIME = -8
  ERRORS = { -1 => ClosedError, -4 => ForkedError, -5 => ClosedError, -6 => OptionsError }.freeze

  # The bits that Provider#wait returns.
  OUTCOMES = 1 # until Provider#read has returned them all
  EVENT = 2    # until Provider#events has returned them all
  ROOM = 4     # after Provider#submit took less than it got
  SETTLED = 8  # everything has its outcome

  # The functions of ferry.h.
  module C
    NAME = 'libferry.so.0'
    POINTER = Fiddle::TYPE_VOIDP
    SIZE = Fiddle::TYPE_SIZE_T
    NUMBER = Fiddle::TYPE_LONG_LONG

    def self.open_library
      file = ENV['FERRY_LIBRARY'].to_s
      # Local: the libraries that libferry needs must not stand before those of other extensions.
      Fiddle::Handle.new(file.empty? ? NAME : file, Fiddle::RTLD_NOW)
    rescue Fiddle::DLError => e
      raise LoadError, 'libferry needs glibc, and this system has musl, as Alpine: use an image of Debian or Ubuntu.', cause: nil if
        RbConfig::CONFIG['host_os'].include?('musl')
      raise LoadError, "#{NAME} cannot be loaded (#{e.message}). Install libferry with Compat/C/build, " \
                       'or name its file in the environment variable FERRY_LIBRARY.', cause: nil
    end

    LIBRARY = open_library

    # Fiddle releases Ruby's lock (GVL) around each call. A short call keeps it where Fiddle can (Ruby 3.0): taking it back
    # from a busy thread takes up to 100 ms, and an exception of Timeout or of a signal could hide what the call returned.
    KEEPS_LOCK = Fiddle::Function.method_defined?(:need_gvl?) ? { need_gvl: true } : {}

    def self.function(name, arguments, returns = NUMBER, options = {})
      Fiddle::Function.new(LIBRARY["ferry_#{name}"], arguments, returns, **options)
    rescue Fiddle::DLError
      raise LoadError, "This libferry has no ferry_#{name}: install libferry #{VERSION} or later."
    end

    OPEN = function('open', [POINTER, SIZE, POINTER, SIZE])
    SUBMIT = function('submit', [NUMBER, POINTER, SIZE, POINTER], NUMBER, KEEPS_LOCK)
    SUBMIT_TO = function('submit_to', [NUMBER, POINTER, SIZE, POINTER, SIZE, SIZE, NUMBER], NUMBER, KEEPS_LOCK)
    READ = function('read', [NUMBER, POINTER, SIZE, SIZE], NUMBER, KEEPS_LOCK)
    READ_EVENT = function('read_event', [NUMBER, POINTER, SIZE], NUMBER, KEEPS_LOCK)
    FD = function('fd', [NUMBER], NUMBER, KEEPS_LOCK)
    WAIT = function('wait', [NUMBER, NUMBER])
    FLUSH = function('flush', [NUMBER, NUMBER])
    DRAIN = function('drain', [NUMBER, NUMBER])
    COUNTS = function('counts', [NUMBER, POINTER, SIZE], NUMBER, KEEPS_LOCK)
    SET = function('set', [NUMBER, POINTER, SIZE, POINTER, SIZE])
    REPORT = function('report', [NUMBER, POINTER, SIZE], NUMBER, KEEPS_LOCK)
    CLOSE = function('close', [NUMBER, NUMBER])
    FREE = function('free', [NUMBER], NUMBER, KEEPS_LOCK)
    FEEDBACK_OPEN = function('feedback_open', [POINTER, SIZE, POINTER, SIZE])
    FEEDBACK_READ = function('feedback_read', [NUMBER, POINTER, SIZE, NUMBER])
    ERROR_TEXT = function('error_text', [NUMBER], POINTER, KEEPS_LOCK)
    REASON_TEXT = function('reason_text', [Fiddle::TYPE_INT], POINTER, KEEPS_LOCK)
    LIBRARY_VERSION = function('version', [], POINTER, KEEPS_LOCK)

    # Returns the number of a call, or raises the error that it is.
    def self.check(number)
      return number if number >= 0
      raise ERRORS.fetch(number, Error).new(ERROR_TEXT.call(number).to_s, number)
    end

    # Calls a function that takes options and fills in a sentence.
    def self.check_options(options)
      json = JSON.generate(options)
      message = "\0" * 4096
      number = yield json, json.bytesize, message, message.bytesize
      sentence = message.unpack1('Z*').force_encoding(Encoding::UTF_8)
      raise ERRORS.fetch(number, Error).new(sentence, number) if number < 0 && !sentence.empty?
      check(number)
    end

    # Returns the text that a function copies into a buffer, if it is large enough.
    def self.text
      size = 4096
      loop do
        buffer = "\0" * size
        length = check(yield(buffer, size))
        return buffer.byteslice(0, length).force_encoding(Encoding::UTF_8) if length <= size
        size = length
      end
    end
  end

  # The version of libferry.
  def self.version
    C::LIBRARY_VERSION.call.to_s
  end

  def self.now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # Calls the block again and again, with 100 ms or what is left of the time, until it returns a value or the time is over.
  # In a longer call, Ruby could run no handler of a signal, and stop no thread.
  def self.in_steps(seconds)
    ends = seconds && now + seconds
    loop do
      left = ends ? ((ends - now) * 1000).ceil : 100
      result = yield left < 0 ? 0 : [left, 100].min
      return result if result || left <= 100 && ends && now >= ends
    end
  end

  PUSH_TYPES = %i[none alert background location voip complication fileprovider mdm liveactivity pushtotalk widgets controls]
               .each_with_index.to_h.freeze
  HEX = '0-9a-fA-F'

  # Appends the record of one notification, as ferry.h describes it, to `records`.
  def self.append(records, tag:, token:, payload:, topic: nil, expiration: nil, priority: 0, push_type: nil, collapse_id: nil,
                  apns_id: nil)
    raise ArgumentError, 'tag: 0 to 2**64 - 1' unless tag.is_a?(Integer) && (tag >> 64).zero?
    length = token.bytesize / 2
    unless token.bytesize == length * 2 && length.between?(1, 100) && token.count(HEX) == token.bytesize
      raise ArgumentError, 'token: 1 to 100 bytes, written as hexadecimal digits'
    end
    payload = JSON.generate(payload) unless payload.is_a?(String)
    raise ArgumentError, 'payload: at most 65,535 bytes' if payload.bytesize > 65_535
    raise ArgumentError, 'topic: at most 255 bytes' if topic && topic.bytesize > 255
    raise ArgumentError, 'collapse_id: at most 255 bytes' if collapse_id && collapse_id.bytesize > 255
    raise ArgumentError, 'priority: 1, 5 or 10' unless (priority ||= 0).between?(0, 255)
    type = push_type ? PUSH_TYPES[push_type.to_sym] : 0
    raise ArgumentError, "push_type: one of #{PUSH_TYPES.keys.join(', ')}" unless type
    if apns_id && (apns_id = apns_id.delete('-')).count(HEX) + apns_id.bytesize != 64
      raise ArgumentError, 'apns_id: a UUID'
    end
    topic_length = topic ? topic.bytesize : 0
    collapse_length = collapse_id ? collapse_id.bytesize : 0
    [24 + length + payload.bytesize + topic_length + collapse_length + (apns_id ? 16 : 0), tag,
     expiration ? [[expiration.to_i, 0].max, 0xFFFF_FFFF].min : 0, (expiration ? 1 : 0) + (apns_id ? 2 : 0), priority, type,
     length, payload.bytesize, topic_length, collapse_length, token, payload, topic, collapse_id, apns_id]
      .pack('L<Q<L<CCCCS<CCH*a*a*a*H*', buffer: records)
  end

  # The outcome of one notification. The numbers are those of ferry.h; the methods below put them into words.
  Outcome = Struct.new(:tag, :outcome_number, :detail_number, :status, :reason_number, :legacy, :flags, :milliseconds, :id_bytes) do
    # :accepted, :rejected, :expired, :undelivered or :uncertain
    def outcome
      Outcome::NAMES[outcome_number]
    end

    # How a notification was accepted, who rejected it, or why it was not delivered.
    def detail
      names = [nil, Outcome::ACCEPTED, Outcome::REJECTED, nil, Outcome::CAUSES, Outcome::CAUSES][outcome_number]
      names && names.fetch(detail_number, :other)
    end

    # Apple's word, such as "BadDeviceToken"; nil without one.
    def reason
      reason_number.zero? ? nil : C::REASON_TEXT.call(reason_number).to_s
    end

    # Since when the device is gone: a Time, or nil.
    def timestamp
      milliseconds.zero? ? nil : Time.at(milliseconds / 1000, milliseconds % 1000 * 1000)
    end

    def apns_id
      flags & 1 == 0 ? nil : id_bytes.unpack('H8H4H4H4H12').join('-')
    end

    def accepted?
      outcome_number == 1
    end
  end
  Outcome::NAMES = [nil, :accepted, :rejected, :expired, :undelivered, :uncertain].freeze
  Outcome::ACCEPTED = [nil, :confirmed, :presumed].freeze
  Outcome::REJECTED = [nil, :gateway, :apns, :ferry, :inferred].freeze
  Outcome::CAUSES = [nil, :shut_down, :cancelled, :evicted, :discarded, :credentials, :no_connection, :released, :deadline,
                     :position_unknown, :peer_closes, :not_repeated, :no_answer, :reset].freeze
  Outcome::SIZE = 40
  Outcome::LAYOUT = 'Q<CCS<S<CCq<a16'

  # The numbers of a provider.
  Counts = Struct.new(:taken, :unsettled, :unread, :confirmed, :presumed, :rejected, :expired, :undelivered, :uncertain,
                      :contradicted, :resent)

  # Sends notifications. Every method may be called on any thread. A provider belongs to the process that opened it.
  class Provider
    BATCH = 4096

    # `options` is a Hash with the names of Docs/c.md. The environment variable FERRY_CONFIG is not read here.
    def initialize(options)
      @handle = C.check_options(options) { |*arguments| C::OPEN.call(*arguments) }
      ObjectSpace.define_finalizer(self, self.class.finalizer(@handle, Process.pid))
    end

    # Takes notifications from the front of the array, while there is room, and returns how many. Never waits. Each is a Hash:
    # tag, token (hexadecimal), payload (JSON text, or a Hash); topic, expiration, priority, push_type, collapse_id, apns_id.
    # When it raises, nothing was taken.
    def submit(notifications)
      taken = 0
      notifications.each_slice(BATCH) do |batch|
        records = String.new(capacity: batch.size * 160)
        begin
          batch.each { |notification| Ferry.append(records, **notification) }
        rescue StandardError
          raise if taken.zero?
          break
        end
        count, = submit_records(records)
        taken += count
        break if count < batch.size
      end
      taken
    end

    # Submits records that Ferry.append made. Returns how many were taken, and their length.
    def submit_records(records)
      used = "\0" * 8
      count = C.check(C::SUBMIT.call(@handle, records, records.bytesize, used))
      [count, used.unpack1('J')]
    end

    # Submits one notification, without tag and token, to many devices, whose tokens have the same length. Their tags are
    # `first_tag`, `first_tag` + 1 and so on. Returns how many were taken.
    def submit_to(notification, tokens, first_tag)
      return 0 if tokens.empty?
      digits = tokens.join
      Ferry.append(record = String.new, tag: 0, token: tokens[0], **notification)
      unless tokens.all? { |token| token.bytesize == tokens[0].bytesize } && digits.count(HEX) == digits.bytesize
        raise ArgumentError, 'tokens: hexadecimal digits, and all of the same length'
      end
      bytes = [digits].pack('H*')
      C.check(C::SUBMIT_TO.call(@handle, record, record.bytesize, bytes, bytes.bytesize / tokens.size, tokens.size, first_tag))
    end

    # Returns the outcomes that have come, at most so many.
    def read(most = BATCH)
      buffer = "\0" * (Outcome::SIZE * most)
      count = C.check(C::READ.call(@handle, buffer, Outcome::SIZE, most))
      Array.new(count) { |index| Outcome.new(*buffer.byteslice(index * Outcome::SIZE, Outcome::SIZE).unpack(Outcome::LAYOUT)) }
    end

    # Returns bits as soon as one is set, and 0 after the time; nil waits without a limit.
    def wait(seconds = nil)
      Ferry.in_steps(seconds) do |ms|
        bits = C::WAIT.call(@handle, ms)
        C.check(bits) if bits != EINTR && bits != 0
      end || 0
    end

    # Waits until everything that was taken before was written once, or has its outcome; with the option `wait`, until everything
    # has its outcome. Returns false after the time.
    def flush(seconds = nil)
      Ferry.in_steps(seconds) do |ms|
        result = C::FLUSH.call(@handle, ms)
        true if result != EINTR && C.check(result).zero?
      end || false
    end

    # Waits until everything has its outcome. Returns how many have none.
    def drain(seconds = nil)
      Ferry.in_steps(seconds) do |ms|
        unsettled = C::DRAIN.call(@handle, ms)
        0 if unsettled != EINTR && C.check(unsettled).zero?
      end || counts.unsettled
    end

    def counts
      buffer = "\0" * (8 * Counts.members.size)
      C.check(C::COUNTS.call(@handle, buffer, buffer.bytesize))
      Counts.new(*buffer.unpack('Q<*'))
    end

    # The report of the provider as a Hash.
    def report
      JSON.parse(C.text { |buffer, size| C::REPORT.call(@handle, buffer, size) })
    end

    # Changes an option that may change: set("share" => 10).
    def set(options)
      C.check_options(options) { |*arguments| C::SET.call(@handle, *arguments) }
      nil
    end

    # Returns the events that have come, each a Hash. The option `events` says how many are kept.
    def events
      events = []
      until (json = C.text { |buffer, size| C::READ_EVENT.call(@handle, buffer, size) }).empty?
        events << JSON.parse(json)
      end
      events
    end

    # A descriptor that is readable while wait(0) is not 0. Only poll it.
    def fd
      C.check(C::FD.call(@handle))
    end

    # For IO.select([provider]) and schedulers of fibers.
    def to_io
      @io ||= IO.for_fd(fd, autoclose: false)
    end

    # Takes nothing more, sends what was taken for up to `seconds`, and gives everything its outcome. Outcomes stay readable.
    # It waits in a thread, because a signal can interrupt Thread#join, and no call into C.
    def close(seconds = 10)
      thread = Thread.new { C::CLOSE.call(@handle, (seconds * 1000).to_i) }
      C.check(thread.value)
      nil
    end

    # Frees the provider. What is not closed ends as if closed within 0 seconds.
    def free
      ObjectSpace.undefine_finalizer(self)
      C.check(C::FREE.call(@handle))
      nil
    end

    # Frees a handle that nobody refers to. Not with something unsettled, because freeing would lose it. And not at the end of
    # the process, where Ruby finalizes every object: there libferry sends what is left (option `atExit`).
    def self.finalizer(handle, pid)
      lambda do |_|
        numbers = "\0" * 88
        C::FREE.call(handle) if !Ferry.ending? && Process.pid == pid && C::COUNTS.call(handle, numbers, 88) >= 0 &&
                                numbers.unpack('Q<2').last.zero?
      end
    end
  end

  # A feedback list: [token, time] of each device that is gone; the token in hexadecimal, the time in seconds of UNIX time.
  class Feedback
    include Enumerable

    # `options` as for Provider. Each call of `each` reads the list that there is then.
    def initialize(options)
      @options = options
    end

    def each
      return enum_for(:each) unless block_given?
      handle = C.check_options(@options) { |*arguments| C::FEEDBACK_OPEN.call(*arguments) }
      begin
        until (tuples = read(handle)).empty?
          until tuples.empty?
            time, length = tuples.unpack('Nn')
            yield [tuples.byteslice(6, length).unpack1('H*'), time]
            tuples = tuples.byteslice(6 + length..-1)
          end
        end
      ensure
        C::FREE.call(handle)
      end
    end

    private

    # Returns whole tuples; '' at the end of the list.
    def read(handle)
      buffer = "\0" * 16_384
      Ferry.in_steps(nil) do |ms|
        length = C::FEEDBACK_READ.call(handle, buffer, buffer.bytesize, ms)
        next if [ETIME, EINTR].include?(length)
        raise Error.new("The feedback list could not be read to its end: #{reason(handle)}", length) if length == -9
        buffer.byteslice(0, C.check(length))
      end
    end

    def reason(handle)
      JSON.parse(C.text { |buffer, size| C::REPORT.call(handle, buffer, size) })['lastError']
    rescue Error
      'the connection ended.'
    end
  end

  # True once the process ends: at_exit runs before Ruby finalizes all objects.
  def self.ending?
    @ending
  end
  @ending = false
  at_exit { @ending = true }
end
