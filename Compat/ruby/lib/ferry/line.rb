# frozen_string_literal: true

require 'ferry'

module Ferry
  # One handle of libferry, which one thread uses at a time, and the notifications on their way through it.
  #
  # What a drop-in does when notifications were taken, and when an outcome came, is its `listener`:
  #   taken(notification, line)
  #   settled(notification, outcome, raises)   returns whether the program thereby learns of a loss. `raises`: `push` will raise
  class Line
    BATCH = 4096
    READ = 256
    # How many seconds the first call waits for an answer: see `await_first_answer`.
    FIRST_ANSWER = 0.5

    # Whether the server has answered, or was silent for long enough, and so has accepted the credentials.
    attr_reader :is_answered

    def initialize(provider, library, listener, is_answered)
      @provider = provider
      @is_answered = is_answered
      @library = library
      @listener = listener
      @pid = Process.pid
      @lock = Mutex.new
      @next_tag = 0
      @pending = {}    # tag => notification
      @outcomes = []   # read from libferry, and not delivered yet
      @silent = []     # lost notifications of which the program would not learn
      @first_tag = nil # of the call in progress
      @failures = []   # notifications of the call in progress that were not delivered
    end

    def foreign?
      @pid != Process.pid
    end

    # Calls the block and returns its value, if no thread uses the line. Otherwise returns nil.
    #
    # Nobody waits for the lock: the handler of a signal may not do that, and another line is at hand. Timeout and Thread#kill
    # strike where the line waits, and nowhere between a call of libferry and what must follow it.
    def exclusive
      Thread.handle_interrupt(Object => :on_blocking) do
        return if foreign? || !@lock.try_lock
        begin
          return if @provider.nil?
          yield
        ensure
          @lock.unlock
        end
      end
    end

    # Sends pairs of a notification and its record, as Ferry.append takes it without a tag. Returns when all was written. Raises
    # when some were not delivered.
    def push(pairs)
      @first_tag = @next_tag
      @failures.clear
      pairs.each_slice(BATCH) do |slice|
        submit(slice)
        break unless @failures.empty?
      end
      read until @provider.flush(0.1)
      read
      await_first_answer
      raise failure(pairs.size) unless @failures.empty?
    ensure
      @first_tag = nil
      tell
    end

    # Delivers the outcomes that have come.
    def read
      loop do
        count = 0
        Thread.handle_interrupt(Object => :never) do
          outcomes = @provider.read(READ)
          count = outcomes.size
          @outcomes.concat(outcomes)
        end
        deliver(@outcomes.shift) until @outcomes.empty?
        break if count < READ
      end
    end

    # Reads outcomes until the block returns true, or the time is over.
    def await(ends)
      until yield || foreign?
        left = ends - Ferry.now
        exclusive do
          read
          @provider.wait([[left, 0].max, 0.1].min) unless yield
          tell
          true
        end || sleep(0.005)
        break if left <= 0
      end
    end

    def pending?
      !@pending.empty?
    end

    # Waits for outcomes until `ends`, and gives up what has none then: for the end of the process.
    def finish(ends)
      @provider.drain([ends - Ferry.now, 0].max)
      read
      return if @pending.empty?
      @provider.close(0)
      read
      @provider = nil
    ensure
      tell
    end

    # Frees the handle if nothing is on its way. Returns whether.
    def free
      read
      tell
      return false if pending?
      @provider.free
      @provider = nil
      true
    end

    # Says on standard error what the program would not learn.
    def tell
      return if @silent.empty?
      kinds = @silent.group_by { |outcome| "#{outcome.outcome} (#{outcome.reason || outcome.detail})" }
      kinds = kinds.map { |kind, outcomes| "#{outcomes.size} #{kind}" }
      @silent = []
      warn "#{@library}: notifications that may not have arrived: #{kinds.join(', ')}. #{last_error}".strip
    end

    private

    def submit(slice)
      records = String.new(capacity: slice.size * 256)
      slice.each_with_index { |(_, record), index| Ferry.append(records, tag: @next_tag + index, **record) }
      until slice.empty?
        count = 0
        Thread.handle_interrupt(Object => :never) do
          count, used = @provider.submit_records(records)
          records = records.byteslice(used..-1)
          slice.shift(count).each do |notification, _|
            @pending[@next_tag] = notification
            @next_tag += 1
            @listener.taken(notification, self)
          end
        end
        read
        @provider.wait(0.1) if count.zero?
      end
    end

    # A server may refuse a certificate of TLS 1.3 only after the first notification was written. The old libraries made a
    # handshake in their first call, and raised then.
    def await_first_answer
      ends = Ferry.now + FIRST_ANSWER
      until @is_answered || !pending? || (left = ends - Ferry.now) <= 0
        @provider.wait([left, 0.1].min)
        read
      end
      @is_answered ||= pending?
    end

    def deliver(outcome)
      @is_answered ||= outcome.accepted? || outcome.outcome == :rejected && outcome.detail != :ferry
      notification = @pending.delete(outcome.tag)
      return unless notification
      raises = outcome.outcome == :undelivered && !@first_tag.nil? && outcome.tag >= @first_tag
      @failures << outcome if raises
      is_told = @listener.settled(notification, outcome, raises)
      @silent << outcome if !is_told && !raises && loss?(outcome)
    end

    # Whether the loss of a notification is one that a user of the old library would never hear of: rejected without a status
    # of the binary protocol means that the topic or the credentials are wrong. 410 is in the feedback list.
    def loss?(outcome)
      case outcome.outcome
      when :undelivered, :uncertain then true
      when :rejected then outcome.legacy.zero? && outcome.status != 410
      end
    end

    # The error that the old library raised: a failed handshake, a refused connection, a broken one.
    def failure(count)
      outcome = @failures.first
      sentence = "#{@failures.size} of #{count} notifications were not delivered (#{outcome.detail}). #{last_error}".strip
      case outcome.detail
      when :credentials
        require 'openssl'
        OpenSSL::SSL::SSLError.new(sentence)
      when :no_connection then Errno::ECONNREFUSED.new(sentence)
      else Errno::EPIPE.new(sentence)
      end
    end

    def last_error
      @provider && @provider.report['lastError']
    end
  end
end
