# frozen_string_literal: true

# Ferry for Ruby: push notifications to APNs through libferry. README.md has a first program.

if (RUBY_VERSION.split('.').map(&:to_i) <=> [2, 5]) < 0
  raise LoadError, "Ferry needs Ruby 2.5 or later, and this is Ruby #{RUBY_VERSION}."
end

begin
  require 'fiddle'
rescue LoadError
  # A gem that depends on it could not be installed without a network, where it is a part of Ruby.
  raise LoadError, 'Ferry needs fiddle, a part of Ruby before 3.5: install it with "gem install fiddle", and with ' \
                   'Bundler add "gem \'fiddle\'" to the Gemfile.', cause: nil
end
require 'json'
require 'rbconfig'
require_relative 'ferry/numbers'

module Ferry
  VERSION = '0.1.0'

  # What libferry said. `code` is a number FERRY_E... of ferry.h.
  class Error < StandardError
    attr_reader :code

    def initialize(message, code)
      super(message)
      @code = code
    end
  end

  OptionsError = Class.new(Error) # the options are wrong
  ClosedError = Class.new(Error)  # the provider was closed, or freed
  ForkedError = Class.new(Error)  # the provider belongs to the parent process

  ERRORS = { EHANDLE => ClosedError, EFORKED => ForkedError, ECLOSED => ClosedError, EOPTIONS => OptionsError }.freeze

  # The bits that Provider#wait returns.
  OUTCOMES = READY_OUTCOMES # until Provider#read has returned them all
  EVENT = READY_EVENT       # until Provider#events has returned them all
  ROOM = READY_ROOM         # after Provider#submit took less than it got
  SETTLED = READY_SETTLED   # everything has its outcome

  # The functions of ferry.h.
  module C
    NAME = 'libferry.so.0'
    POINTER = Fiddle::TYPE_VOIDP
    SIZE = Fiddle::TYPE_SIZE_T
    NUMBER = Fiddle::TYPE_LONG_LONG

    # The library: the file of FERRY_LIBRARY, else the one inside this gem, else the system's.
    def self.file
      own = File.join(__dir__, 'ferry', NAME)
      [ENV['FERRY_LIBRARY'].to_s, File.exist?(own) ? own : NAME].find { |file| !file.empty? }
    end

    def self.open_library
      # Not global: the libraries that libferry needs must not take the place of those of other extensions.
      Fiddle::Handle.new(file, Fiddle::RTLD_NOW)
    rescue Fiddle::DLError => e
      if RbConfig::CONFIG['host_os'].include?('musl')
        raise LoadError, 'libferry needs glibc, and this system has musl, as Alpine: use Debian or Ubuntu.', cause: nil
      end
      raise LoadError, "#{NAME} cannot be loaded (#{e.message}). Install libferry with Compat/C/build, " \
                       'or name its file in the environment variable FERRY_LIBRARY.', cause: nil
    end

    LIBRARY = open_library

    # Fiddle releases Ruby's lock (GVL) around a call. Calls that never wait keep it, where Fiddle can (Ruby 3.0): a
    # busy thread gives it back after up to 100 ms, and an exception of Timeout could hide what the call returned.
    QUICK = Fiddle::Function.method_defined?(:need_gvl?) ? { need_gvl: true } : {}

    def self.function(name, arguments, returns = NUMBER, **options)
      address = LIBRARY["ferry_#{name}"]
      return Fiddle::Function.new(address, arguments, returns) if options.empty? # Ruby 2.5 would pass an empty Hash.
      Fiddle::Function.new(address, arguments, returns, **options)
    rescue Fiddle::DLError
      raise LoadError, "This libferry has no ferry_#{name}: install libferry #{VERSION} or later.", cause: nil
    end

    OPEN = function('open', [POINTER, SIZE, POINTER, SIZE])
    SUBMIT = function('submit', [NUMBER, POINTER, SIZE, POINTER], **QUICK)
    SUBMIT_TO = function('submit_to', [NUMBER, POINTER, SIZE, POINTER, SIZE, SIZE, NUMBER], **QUICK)
    READ = function('read', [NUMBER, POINTER, SIZE, SIZE], **QUICK)
    READ_RUN = function('read_run', [NUMBER, POINTER, SIZE, POINTER, SIZE], **QUICK)
    OUTCOME_JSON = function('outcome_json', [NUMBER, POINTER, SIZE, POINTER, SIZE], **QUICK)
    READ_EVENT = function('read_event', [NUMBER, POINTER, SIZE], **QUICK)
    FD = function('fd', [NUMBER], **QUICK)
    WAIT = function('wait', [NUMBER, NUMBER])
    FLUSH = function('flush', [NUMBER, NUMBER])
    DRAIN = function('drain', [NUMBER, NUMBER])
    COUNTS = function('counts', [NUMBER, POINTER, SIZE], **QUICK)
    SET = function('set', [NUMBER, POINTER, SIZE, POINTER, SIZE])
    REPORT = function('report', [NUMBER, POINTER, SIZE], **QUICK)
    CLOSE = function('close', [NUMBER, NUMBER])
    FREE = function('free', [NUMBER], **QUICK)
    FEEDBACK_OPEN = function('feedback_open', [POINTER, SIZE, POINTER, SIZE])
    FEEDBACK_READ = function('feedback_read', [NUMBER, POINTER, SIZE, NUMBER])
    ERROR_TEXT = function('error_text', [NUMBER], POINTER, **QUICK)
    REASON_TEXT = function('reason_text', [Fiddle::TYPE_INT], POINTER, **QUICK)
    LIBRARY_VERSION = function('version', [], POINTER, **QUICK)

    # Returns the number of a call, or raises the error that it is.
    def self.check(number, sentence = nil)
      return number if number >= 0
      raise ERRORS.fetch(number, Error).new(sentence || ERROR_TEXT.call(number).to_s, number)
    end

    # Calls a function that takes options as JSON, and memory for a sentence about what is wrong with them.
    def self.with_options(options)
      json = JSON.generate(options)
      message = "\0" * 4096
      number = yield json, json.bytesize, message, message.bytesize
      sentence = message.unpack1('Z*').force_encoding(Encoding::UTF_8)
      check(number, sentence.empty? ? nil : sentence)
    end

    # Calls a function that copies a text, and returns its length, until there is room enough for it.
    def self.text
      size = 4096
      loop do
        buffer = "\0" * size
        length = check(yield(buffer, size))
        return buffer.byteslice(0, length).force_encoding(Encoding::UTF_8) if length <= size
        size = length
      end
    end

    def self.report(handle)
      JSON.parse(text { |buffer, size| REPORT.call(handle, buffer, size) })
    end
  end

  # The version of libferry.
  def self.version
    C::LIBRARY_VERSION.call.to_s
  end

  # Seconds of a clock that nobody sets.
  def self.now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # Calls the block with 100 ms, or with what is left, until it returns a value or the time is over. During a call into
  # C, Ruby runs no handler of a signal, and stops no thread.
  def self.in_steps(seconds)
    ends = seconds && now + seconds
    loop do
      left = ends ? ends - now : 0.1
      result = yield((left.clamp(0, 0.1) * 1000).ceil)
      return result if result || ends && now >= ends
    end
  end

  HEX = '0-9a-fA-F'

  # Appends the record of one notification, as ferry.h describes it, to `records`. Raises if a part does not fit.
  def self.append(records, tag:, token:, payload:, topic: nil, expiration: nil, priority: nil, push_type: nil,
                  collapse_id: nil, apns_id: nil)
    raise ArgumentError, 'tag: 0 to 2**64 - 1' unless tag.is_a?(Integer) && (tag >> 64).zero?
    length = token.bytesize / 2
    unless length.between?(1, 100) && token.bytesize == length * 2 && token.count(HEX) == token.bytesize
      raise ArgumentError, 'token: 1 to 100 bytes, as hexadecimal digits'
    end
    payload = JSON.generate(payload) unless payload.is_a?(String)
    raise ArgumentError, 'payload: at most 65,535 bytes' if payload.bytesize > 65_535
    raise ArgumentError, 'topic: at most 255 bytes' if topic && topic.bytesize > 255
    raise ArgumentError, 'collapse_id: at most 255 bytes' if collapse_id && collapse_id.bytesize > 255
    raise ArgumentError, 'priority: 1, 5 or 10' unless (priority ||= 0).between?(0, 255)
    type = push_type ? PUSH_TYPES[push_type.to_sym] : 0
    raise ArgumentError, "push_type: one of #{PUSH_TYPES.keys.join(', ')}" unless type
    apns_id = apns_id.delete('-') if apns_id
    raise ArgumentError, 'apns_id: a UUID' if apns_id && [apns_id.bytesize, apns_id.count(HEX)] != [32, 32]
    topic_length = topic ? topic.bytesize : 0
    collapse_length = collapse_id ? collapse_id.bytesize : 0
    [24 + length + payload.bytesize + topic_length + collapse_length + (apns_id ? 16 : 0), tag,
     expiration ? expiration.to_i.clamp(0, 0xFFFF_FFFF) : 0,
     (expiration ? RECORD_EXPIRATION : 0) + (apns_id ? RECORD_APNS_ID : 0), priority, type,
     length, payload.bytesize, topic_length, collapse_length, token, payload, topic, collapse_id, apns_id]
      .pack('L<Q<L<CCCCS<CCH*a*a*a*H*', buffer: records)
  end

  # The outcome of one notification: the 40 bytes of ferry.h. Most programs look at a part of most outcomes.
  class Outcome
    SIZE = 40
    # By outcome.
    DETAILS = NAMES.map do |name|
      { accepted: ACCEPTANCES, rejected: ORIGINS, undelivered: CAUSES, uncertain: CAUSES }.fetch(name, [nil])
    end.freeze

    # The 40 bytes.
    attr_reader :bytes

    def initialize(bytes)
      @bytes = bytes
    end

    def tag
      @bytes.unpack1('Q<')
    end

    # :accepted, :rejected, :expired, :undelivered or :uncertain
    def outcome
      NAMES[@bytes.getbyte(8)]
    end

    def accepted?
      @bytes.getbyte(8) == ACCEPTED
    end

    # How a notification was accepted, who rejected it, or why it was not delivered.
    def detail
      DETAILS[@bytes.getbyte(8)].fetch(@bytes.getbyte(9), :other)
    end

    # Of HTTP/2, or of the binary protocol; 0: none.
    def status
      @bytes.unpack1('@10S<')
    end

    # Apple's word, such as "BadDeviceToken"; nil: none.
    def reason
      number = @bytes.unpack1('@12S<')
      number.zero? ? nil : C::REASON_TEXT.call(number).to_s
    end

    # The status that a gateway of the binary protocol would answer; 0: none.
    def legacy
      @bytes.getbyte(14)
    end

    # Since when the device is gone: a Time; nil: it is not.
    def timestamp
      milliseconds = @bytes.unpack1('@16q<')
      milliseconds.zero? ? nil : Time.at(milliseconds / 1000, milliseconds % 1000 * 1000)
    end

    # The identifier that APNs gave the notification; nil: none.
    def apns_id
      @bytes.getbyte(15) & OUTCOME_APNS_ID != 0 ? @bytes.unpack('@24H8H4H4H4H12').join('-') : nil
    end

    def inspect
      "#<Ferry::Outcome #{[tag, outcome, detail, reason].compact.join(' ')}>"
    end
  end

  # The numbers of a provider.
  Counts = Struct.new(:taken, :unsettled, :unread, :confirmed, :presumed, :rejected, :expired, :undelivered, :uncertain,
                      :contradicted, :resent)

  # Sends notifications. Any thread may call any method. A provider belongs to the process that opened it.
  class Provider
    BATCH = 4096

    # `options`: a Hash with the names of Docs/begin/c.md.
    def initialize(options)
      @handle = C.with_options(options) { |*arguments| C::OPEN.call(*arguments) }
      ObjectSpace.define_finalizer(self, self.class.finalizer(@handle, Process.pid))
    end

    # Takes notifications from the front of the array, as many as there is room for, and returns how many. Never waits.
    # Each is a Hash with the arguments of Ferry.append. If it raises, it has taken nothing.
    def submit(notifications)
      taken = 0
      notifications.each_slice(BATCH) do |batch|
        records = String.new(capacity: batch.size * 160)
        begin
          batch.each { |notification| Ferry.append(records, **notification) }
        rescue StandardError
          raise if taken.zero?
          break # The next call begins with this batch, and raises.
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

    # Submits one notification, a Hash without tag and token, to many devices, whose tokens have one length. Their tags
    # are `first_tag`, `first_tag` + 1 and so on. With `bytes`, tokens are not hexadecimal. Returns how many were taken.
    def submit_to(notification, tokens, first_tag, bytes: false)
      return 0 if tokens.empty?
      joined = tokens.join
      unless tokens.map(&:bytesize).uniq.size == 1 && (bytes || joined.count(HEX) == joined.bytesize)
        raise ArgumentError, 'tokens: hexadecimal digits, all of one length'
      end
      joined = [joined].pack('H*') unless bytes
      Ferry.append(record = String.new, tag: first_tag, token: bytes ? tokens[0].unpack1('H*') : tokens[0], **notification)
      length = joined.bytesize / tokens.size
      signed = [first_tag].pack('Q').unpack1('q') # Fiddle has no numbers beyond that.
      C.check(C::SUBMIT_TO.call(@handle, record, record.bytesize, joined, length, tokens.size, signed))
    end

    # Returns the outcomes that have come, at most so many.
    def read(most = BATCH)
      buffer = "\0" * (Outcome::SIZE * most)
      count = C.check(C::READ.call(@handle, buffer, Outcome::SIZE, most))
      Array.new(count) { |index| Outcome.new(buffer.byteslice(index * Outcome::SIZE, Outcome::SIZE)) }
    end

    # Like read, as pairs of an outcome and the tags of all that differ from it in nothing else. Much faster.
    def read_runs(most = BATCH)
      tags, runs = "\0" * (8 * most), []
      loop do
        outcome = "\0" * Outcome::SIZE # Its own: a copy would share the memory that the library writes.
        return runs if (count = C.check(C::READ_RUN.call(@handle, outcome, Outcome::SIZE, tags, most))).zero?
        runs << [Outcome.new(outcome), tags.unpack("Q<#{count}")]
        most -= count
      end
    end

    # An outcome as a Hash of words, with the members of a line of `ferry push --events`, and a "sentence". Call it soon:
    # where the outcome is not certain or not a delivery, the sentence is about the present trouble.
    def words(outcome)
      JSON.parse(C.text { |buffer, size| C::OUTCOME_JSON.call(@handle, outcome.bytes, Outcome::SIZE, buffer, size) })
    end

    # Returns bits as soon as one is set, and 0 after the time; nil waits without a limit.
    def wait(seconds = nil)
      Ferry.in_steps(seconds) do |ms|
        bits = C::WAIT.call(@handle, ms)
        C.check(bits) unless [EINTR, 0].include?(bits)
      end || 0
    end

    # Waits until everything that was taken before was written once, or has its outcome; with the option `wait`, until
    # everything has its outcome. Returns false after the time.
    def flush(seconds = nil)
      Ferry.in_steps(seconds) do |ms|
        late = C::FLUSH.call(@handle, ms)
        true if late != EINTR && C.check(late).zero?
      end || false
    end

    # Waits until everything has its outcome. Returns how many have none.
    def drain(seconds = nil)
      Ferry.in_steps(seconds) { |ms| 0 if C.check(C::DRAIN.call(@handle, ms)).zero? } || counts.unsettled
    end

    def counts
      buffer = "\0" * (8 * Counts.members.size)
      C.check(C::COUNTS.call(@handle, buffer, buffer.bytesize))
      Counts.new(*buffer.unpack('Q<*'))
    end

    # The report as a Hash.
    def report
      C.report(@handle)
    end

    # Changes an option that may change: set(share: 10).
    def set(options)
      C.with_options(options) { |*arguments| C::SET.call(@handle, *arguments) }
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

    # A descriptor that is readable while wait(0) is not 0. Only poll it: IO.for_fd(provider.fd, autoclose: false).
    def fd
      C.check(C::FD.call(@handle))
    end

    # For IO.select([provider]).
    def to_io
      @to_io ||= IO.for_fd(fd, autoclose: false)
    end

    # Takes nothing more, sends what was taken for up to `seconds`, and gives everything its outcome; `read` has them.
    # A thread calls libferry, because signals and Timeout interrupt the wait for a thread, and no call into C.
    def close(seconds = 10)
      C.check(Thread.new { C::CLOSE.call(@handle, (seconds * 1000).to_i) }.value)
    end

    # Frees the provider. What is not closed ends as if closed within 0 seconds.
    def free
      ObjectSpace.undefine_finalizer(self)
      C.check(C::FREE.call(@handle))
      nil
    end

    # Frees a handle that nobody refers to, unless something is unsettled, which it would lose. Not at the end of the
    # process, where Ruby finalizes every object: then libferry sends what is left (option `atExit`).
    def self.finalizer(handle, pid)
      lambda do |_|
        numbers = "\0" * 88
        next if Ferry.ending? || Process.pid != pid || C::COUNTS.call(handle, numbers, 88) < 0
        C::FREE.call(handle) if numbers.unpack('Q<2').last.zero?
      end
    end
  end

  @is_ending = false

  # Whether the process ends: hooks of at_exit run before Ruby finalizes all objects.
  def self.ending?
    @is_ending
  end
  at_exit { @is_ending = true }
end

require_relative 'ferry/push'
