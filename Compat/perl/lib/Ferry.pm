package Ferry;

use 5.010;
use strict;
use warnings;

use Carp qw(croak);
use Config;
use Exporter qw(import);
use Ferry::Numbers;

BEGIN {
    die "Ferry needs FFI::Platypus, which is compiled code: on Debian and Ubuntu, apt-get install libffi-platypus-perl\n"
        unless eval { require FFI::Platypus };
}
use FFI::Platypus 1.00;
use FFI::Platypus::DL qw(dlopen dlerror RTLD_PLATYPUS_DEFAULT);
use JSON::PP ();
use List::Util qw(max min);
use Scalar::Util qw(looks_like_number);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

our $VERSION = '0.1.0';
our @CARP_NOT = qw(Ferry::Feedback Ferry::DropIn);

BEGIN {
    die "Ferry needs a Perl with 64-bit integers\n" if $Config{ivsize} < 8;
    die "Ferry needs Linux with glibc; musl (Alpine) is not served\n" unless $Config{gnulibc_version};
}
use constant \%Ferry::Numbers::NUMBER;
our @EXPORT_OK = sort keys %Ferry::Numbers::NUMBER;
our %EXPORT_TAGS = (constants => \@EXPORT_OK);

# ---- The library ----

{
    # The file of FERRY_LIBRARY, else the one inside this package, else the system's.
    (my $own = __FILE__) =~ s{\.pm\z}{/libferry.so.0};
    my $path = $ENV{FERRY_LIBRARY} || (-e $own ? $own : 'libferry.so.0');
    dlopen($path, RTLD_PLATYPUS_DEFAULT)
        or die "Ferry cannot load its library (@{[dlerror()]}): install libferry, or name the file in FERRY_LIBRARY\n";
    my $ffi = FFI::Platypus->new(api => FFI::Platypus->VERSION >= 2 ? 2 : 1, lib => $path);

    # A "string" is the address of a scalar's bytes, also where the library writes into them.
    my %function = (
        version       => ['string'],
        error_text    => ['string', 'sint64'],
        reason_text   => ['string', 'uint32'],
        open          => ['sint64', qw(string size_t string size_t)],
        submit        => ['sint64', qw(uint64 string size_t opaque)],
        submit_to     => ['sint64', qw(uint64 string size_t string size_t size_t uint64)],
        read          => ['sint64', qw(uint64 string size_t size_t)],
        read_run      => ['sint64', qw(uint64 string size_t string size_t)],
        outcome_json  => ['sint64', qw(uint64 string size_t string size_t)],
        read_event    => ['sint64', qw(uint64 string size_t)],
        fd            => ['sint64', 'uint64'],
        wait          => ['sint64', qw(uint64 sint64)],
        flush         => ['sint64', qw(uint64 sint64)],
        drain         => ['sint64', qw(uint64 sint64)],
        counts        => ['sint64', qw(uint64 string size_t)],
        set           => ['sint64', qw(uint64 string size_t string size_t)],
        report        => ['sint64', qw(uint64 string size_t)],
        close         => ['sint64', qw(uint64 sint64)],
        free          => ['sint64', 'uint64'],
        feedback_open => ['sint64', qw(string size_t string size_t)],
        feedback_read => ['sint64', qw(uint64 string size_t sint64)],
    );
    for my $name (keys %function) {
        my ($result, @arguments) = @{ $function{$name} };
        $ffi->attach(["ferry_$name" => "_$name"], \@arguments => $result);
    }
}

# Sizes in bytes, and how many outcomes are read at a time.
use constant { OUTCOME => 40, COUNTS => 88, MESSAGE => 4096, TEXT => 65_536, MOST => 4096 };

# Perl runs signal handlers between two calls of the library: no call lasts longer than this, in milliseconds.
use constant STEP => 100;

# Perl's values do not say whether they are numbers or booleans. JSON's must.
my %IS_NUMBER = map { $_ => 1 } qw(port feedbackPort queueLimit events maxConnections loops connectTimeout deadline
    connectionRetryLimit attemptTimeout lateAnswerLimit pingInterval idleCheck devicePacing cacheLength cacheLimit
    settleTime share downAfter atExit);
my %IS_BOOLEAN = map { $_ => 1 } qw(production rejectUnauthorized autoAdjustCache buffersNotifications probeWhenHeld
    fallback includesUnknown wait);

my $json = JSON::PP->new->utf8->allow_nonref;

# An object belongs to the thread that made it.
sub CLONE_SKIP { return 1 }

# ---- A provider ----

sub new {
    my ($class, @options) = @_;
    return bless { handle => _opened(\&_open, _options(atExit => 10, @options)), pid => $$ }, $class;
}

sub submit {
    my ($self, $notifications) = @_;
    my $records = _records($notifications);
    return _checked(_submit($self->{handle}, $records, length $records, undef));
}

sub submit_to {
    my ($self, $notification, $tokens, $first_tag) = @_;
    return 0 unless @$tokens;
    my $length = length $tokens->[0];
    croak 'Ferry: all tokens must have the same length' if grep { length != $length } @$tokens;
    my $record = _records([{ %$notification, token => $tokens->[0] }]);
    my $joined = _bytes(join '', @$tokens);
    my @arguments = ($joined, $length, scalar @$tokens, $first_tag // 0);
    return _checked(_submit_to($self->{handle}, $record, length $record, @arguments));
}

# Memory for outcomes. A signal handler may read while another read is under way.
my @buffers;

sub read {
    my ($self, $most) = @_;
    my $buffer = pop @buffers || do { _buffer(my $new, OUTCOME * MOST); \$new };
    my $count = _checked(_read($self->{handle}, $$buffer, OUTCOME, max(0, min($most // MOST, MOST))));
    my @outcomes = map { bless \$_, 'Ferry::Outcome' } unpack "(a40)$count", $$buffer;
    push @buffers, $buffer;
    return @outcomes;
}

# Like read, as pairs of an outcome and the tags of all that differ from it in nothing else. Much faster.
sub read_runs {
    my ($self, $most) = @_;
    $most = max(0, min($most // MOST, MOST));
    _buffer(my $outcome, OUTCOME);
    _buffer(my $tags, 8 * MOST);
    my @runs;
    while (my $count = _checked(_read_run($self->{handle}, $outcome, OUTCOME, $tags, $most))) {
        # Copies of a scalar may share the memory that the library writes. What unpack returns does not.
        push @runs, [bless(\(my $copy = unpack 'a40', $outcome), 'Ferry::Outcome'), [unpack "Q<$count", $tags]];
        $most -= $count;
    }
    return @runs;
}

# An outcome as a hash of words, with the members of a line of `ferry push --events`, and a sentence.
sub words {
    my ($self, $outcome) = @_;
    return $json->decode(_text($self, sub { _outcome_json($_[0], $$outcome, OUTCOME, $_[1], $_[2]) }));
}

sub wait {
    my ($self, $seconds) = @_;
    return _stepwise($seconds, sub {
        my $bits = _wait($self->{handle}, $_[0]);
        return $bits == FERRY_EINTR ? 0 : _checked($bits);
    });
}

# Waits until everything that was taken before is written. Returns whether it is.
sub flush {
    my ($self, $seconds) = @_;
    return _stepwise($seconds, sub {
        my $result = _flush($self->{handle}, $_[0]);
        return $result == FERRY_EINTR ? 0 : !_checked($result);
    });
}

sub drain {
    my ($self, $seconds) = @_;
    my $left;
    _stepwise($seconds, sub { !($left = _checked(_drain($self->{handle}, $_[0]))) });
    return $left;
}

sub counts {
    my ($self) = @_;
    _buffer(my $numbers, COUNTS);
    _checked(_counts($self->{handle}, $numbers, COUNTS));
    my %counts;
    @counts{qw(taken unsettled unread confirmed presumed rejected expired undelivered uncertain contradicted resent)}
        = unpack 'Q<11', $numbers;
    return \%counts;
}

sub report { return $json->decode(_text($_[0], \&_report)) }

sub events {
    my ($self) = @_;
    my @events;
    while (length(my $event = _text($self, \&_read_event))) { push @events, $json->decode($event) }
    return @events;
}

sub set {
    my ($self, @options) = @_;
    my $options = _options(@options);
    _buffer(my $message, MESSAGE);
    my $result = _set($self->{handle}, $options, length $options, $message, MESSAGE);
    croak 'Ferry: ', unpack('Z*', $message) || _error_text($result) if $result < 0;
    return;
}

sub fd { return _checked(_fd($_[0]{handle})) }

# A watcher of AnyEvent. The callback gets the provider whenever wait(0) is not 0.
sub watch {
    my ($self, $callback) = @_;
    require AnyEvent;
    return AnyEvent->io(fh => $self->fd, poll => 'r', cb => sub { $callback->($self) });
}

# Most of the time is spent where signals are handled; what is left for the library is to end the connections.
sub close {
    my ($self, $seconds) = @_;
    $self->drain($seconds // 10);
    _checked(_close($self->{handle}, 0));
    return;
}

sub free {
    my ($self) = @_;
    _free($self->{handle});
    $self->{handle} = 0;
    return;
}

# What was taken is still sent: the option atExit says for how long. At the end of the process the library sees to it,
# and the handles of a parent process are not ours.
sub DESTROY {
    my ($self) = @_;
    return if $self->{pid} != $$ || (${^GLOBAL_PHASE} // '') eq 'DESTRUCT' && !($INC{'threads.pm'} && threads->tid);
    _free($self->{handle});
}

# ---- Inside ----

# Opens a handle with `function`, or croaks with the library's sentence.
sub _opened {
    my ($function, $options) = @_;
    _buffer(my $message, MESSAGE);
    my $handle = $function->($options, length $options, $message, MESSAGE);
    croak 'Ferry: ', unpack 'Z*', $message if $handle < 0;
    return $handle;
}

# The JSON of options: pairs, or one hash behind the pairs that are defaults.
sub _options {
    my (@options) = @_;
    push @options, %{ pop @options } if @options % 2 && ref $options[-1] eq 'HASH';
    croak 'Ferry: options are pairs of names and values' if @options % 2;
    return $json->encode(_typed({@options}));
}

sub _typed {
    my ($options) = @_;
    my %typed;
    for my $name (keys %$options) {
        my $value = $options->{$name};
        next unless defined $value;
        if (ref $value eq 'HASH') { $value = _typed($value) }
        elsif ($IS_BOOLEAN{$name}) { $value = $value ? JSON::PP::true() : JSON::PP::false() }
        elsif ($IS_NUMBER{$name} && looks_like_number($value)) { $value += 0 }
        elsif (!ref $value) { utf8::decode($value .= '') }    # a path is bytes
        $typed{$name} = $value;
    }
    return \%typed;
}

# The records of notifications, as ferry.h describes them, in one string.
sub _records {
    my ($notifications) = @_;
    use warnings FATAL => qw(numeric pack uninitialized);
    my @fields;
    for my $notification (@$notifications) {
        my ($token, $payload, $tag, $priority, $push_type) = @$notification{qw(token payload tag priority push_type)};
        croak 'Ferry: a notification has a token and a payload' unless defined $token && defined $payload;
        $payload = $json->encode($payload) if ref $payload;
        my $token_length = length $token;
        my $payload_length = length $payload;
        croak 'Ferry: a token has 1 to 100 bytes' if !$token_length || $token_length > 100;
        croak 'Ferry: a payload has at most 65535 bytes' if $payload_length > 65_535;
        # Most notifications have nothing else, and this runs once for each.
        if (exists $notification->{topic} || exists $notification->{expiration} || exists $notification->{collapse_id}
            || exists $notification->{apns_id}) {
            push @fields, _long_fields($notification, $token, $payload);
        } else {
            push @fields, 24 + $token_length + $payload_length, $tag // 0, 0, 0, $priority // 0, $push_type // 0,
                $token_length, $payload_length, 0, 0, $token . $payload;
        }
    }
    return _bytes(pack '(V Q< V C4 v C2 a*)*', @fields);
}

# The fields of a record with everything that there is.
sub _long_fields {
    my ($notification, $token, $payload) = @_;
    my ($topic, $collapse_id, $apns_id) = map { $_ // '' } @$notification{qw(topic collapse_id apns_id)};
    my ($tag, $priority, $type, $expiration) = map { $_ // 0 } @$notification{qw(tag priority push_type expiration)};
    $apns_id = pack 'H*', join '', split /-/, $apns_id if length $apns_id == 36;
    croak 'Ferry: a topic and a collapse_id have at most 255 bytes' if max(length $topic, length $collapse_id) > 255;
    croak 'Ferry: an apns_id has 16 bytes' if length $apns_id && length $apns_id != 16;
    croak 'Ferry: an expiration has 32 bits' if $expiration < 0 || $expiration > 0xFFFF_FFFF;
    my $flags = (defined $notification->{expiration} ? FERRY_RECORD_EXPIRATION : 0)
        | (length $apns_id ? FERRY_RECORD_APNS_ID : 0);
    my $bytes = join '', $token, $payload, $topic, $collapse_id, $apns_id;
    return (24 + length $bytes, $tag, $expiration, $flags, $priority, $type, length $token, length $payload,
        length $topic, length $collapse_id, $bytes);
}

sub _bytes {
    my ($string) = @_;
    utf8::downgrade($string, 1) or croak 'Ferry: token, payload, topic and collapse_id are bytes: encode text as UTF-8';
    return $string;
}

# Calls `step` with milliseconds until it returns something true, or the seconds are over; without seconds, for ever.
sub _stepwise {
    my ($seconds, $step) = @_;
    my $end = defined $seconds ? clock_gettime(CLOCK_MONOTONIC) + $seconds : undef;
    while (1) {
        my $left = defined $end ? 1000 * ($end - clock_gettime(CLOCK_MONOTONIC)) : STEP;
        my $result = $step->($left > 0 ? min STEP, int $left + 1 : 0);
        return $result if $result || $left <= 0;
    }
}

# Makes the first argument a string of `size` bytes that the library may overwrite: no other scalar shares them.
sub _buffer {
    vec($_[0], $_[1] - 1, 8) = 0;
}

# A text of the library that may be of any length.
sub _text {
    my ($self, $function) = @_;
    for (my $size = TEXT;;) {
        _buffer(my $text, $size);
        my $length = _checked($function->($self->{handle}, $text, $size));
        return substr $text, 0, $length if $length <= $size;
        $size = $length;
    }
}

sub _checked {
    my ($result) = @_;
    croak 'Ferry: ', _error_text($result) if $result < 0;
    return $result;
}

# ---- One outcome ----

package Ferry::Outcome;

my %reason;

sub tag       { return unpack 'Q<', ${ $_[0] } }
sub outcome   { return unpack 'x8 C', ${ $_[0] } }
sub detail    { return unpack 'x9 C', ${ $_[0] } }
sub status    { return unpack 'x10 v', ${ $_[0] } }
sub legacy    { return unpack 'x14 C', ${ $_[0] } }
sub timestamp { return unpack('x16 q<', ${ $_[0] }) || undef }

sub reason {
    my $number = unpack 'x12 v', ${ $_[0] };
    return $reason{$number} //= Ferry::_reason_text($number);
}

sub apns_id {
    my ($flags, @parts) = unpack 'x15 C x8 H8 H4 H4 H4 H12', ${ $_[0] };
    return $flags & Ferry::FERRY_OUTCOME_APNS_ID() ? join('-', @parts) : undef;
}

require Ferry::Push;    # It needs all of the above.

1;
