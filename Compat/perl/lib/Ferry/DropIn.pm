package Ferry::DropIn;

# What the drop-ins share: a provider that belongs to all objects of a process with the same server and certificate, and
# the notifications that have no outcome yet.

use 5.010;
use strict;
use warnings;

use Carp qw(croak);
use Ferry qw(:constants);
use File::Temp ();
use List::Util qw(max min);
use Scalar::Util qw(refaddr weaken);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

our $VERSION = '0.1.0';

# An error is that of the program's line.
our @CARP_NOT = qw(
    Ferry Net::APNS::Notification Net::APNs::Extended Net::APNs::Extended::Base Net::APNs::Extended::Feedback AnyEvent::APNS
    AnyEvent::APNS::Handler
);

# Seconds: until a provider that nobody uses is closed, and for what is left at the end of the process.
use constant { IDLE => 60, AT_EXIT => 10 };

# How long the first calls wait for a sign that the server takes the certificate, in seconds. A refusal may come only
# after the first notification was written, and the handshake of the original would have failed.
use constant PROOF => 0.5;

# The status of HTTP/2 for a device that lost the app. That is no error: the list of such devices tells of it.
use constant GONE => 410;

# The most notifications in one call of the library.
use constant BATCH => 4096;

# Connections that may fail in a row: with the pauses between them, that takes about 8 seconds.
use constant RETRIES => 5;

my %CAUSE = (
    FERRY_CAUSE_SHUT_DOWN()        => 'the program ended',
    FERRY_CAUSE_CREDENTIALS()      => 'the credentials were refused',
    FERRY_CAUSE_NO_CONNECTION()    => 'there was no connection',
    FERRY_CAUSE_DEADLINE()         => 'its time was over before it could be written',
    FERRY_CAUSE_POSITION_UNKNOWN() => 'the connection was lost',
    FERRY_CAUSE_PEER_CLOSES()      => 'the gateway closes when it gets it',
    FERRY_CAUSE_NO_ANSWER()        => 'there was no answer',
    FERRY_CAUSE_RESET()            => 'the request was reset',
);

my $clones = 0;
my %shared;    # providers by what was asked for
my %open;      # all providers, weakly

# A new thread begins with copies of everything. It opens providers of its own.
sub CLONE {
    $clones++;
    %shared = %open = ();
}

# Names this process and thread. What another one opened is not ours.
sub era { return "$$.$clones" }

# ---- Providers ----

# Opens a provider. `request` has options of the library. A certificate or key is a path, or a reference to PEM text.
sub open {
    my ($class, %request) = @_;
    my $ferry = _with_files(sub { Ferry->new(atExit => AT_EXIT, @_) }, %request);
    my $self = bless { ferry => $ferry, era => era(), tag => 0 }, $class;
    @$self{qw(queue pending outcomes news)} = ([], {}, [], []);
    weaken($open{ refaddr $self } = $self);
    return $self;
}

# Opens a list of devices that are gone.
sub feedback {
    my (%request) = @_;
    require Ferry::Feedback;
    return _with_files(sub { Ferry::Feedback->new(@_) }, %request);
}

# Calls `open` with options in which PEM text has become a file. The options of the file FERRY_CONFIG win over them.
sub _with_files {
    my ($open, %request) = @_;
    my @files;
    for my $text (grep { ref } @request{qw(cert key)}) {
        # For the owner only, and gone when this call returns: the library has read it by then.
        push @files, my $file = File::Temp->new;
        print {$file} $$text;
        $file->close or croak "cannot write a certificate to a temporary file: $!";
        $text = $file->filename;
    }
    my $config = $ENV{FERRY_CONFIG} // '';
    return $open->(backend => 'auto', %request, length $config ? (config => $config) : ());
}

# Returns the provider for `request`, which is opened if there is none. Its users wait for it, and used to hear at once
# that there was no connection.
sub shared {
    my ($class, %request) = @_;
    # A certificate that was renewed is another one.
    my @parts = map { ref ? $$_ : ($_, (stat)[1, 7, 9]) } grep { defined } @request{qw(cert key)};
    my $key = join "\0", era(), @parts, map { $_ // '' } @request{qw(host port passphrase)}, $ENV{FERRY_CONFIG};
    my $now = clock_gettime(CLOCK_MONOTONIC);
    # A provider without a server tries ever more rarely, and one whose certificate was refused never again.
    delete $shared{$key} if $shared{$key} && $shared{$key}{trouble} && $shared{$key}->is_over;
    unless ($shared{$key}) {
        delete $shared{$_} for grep { $shared{$_}->is_idle($now) } keys %shared;
        $shared{$key} = $class->open(%request, connectionRetryLimit => RETRIES);
    }
    $shared{$key}{used} = $now;
    return $shared{$key};
}

sub is_idle {
    my ($self, $now) = @_;
    return 1 if $self->{era} ne era();
    $self->collect;
    return $self->{used} < $now - IDLE && $self->is_over;
}

sub DESTROY { delete $open{ refaddr $_[0] } }

# ---- Notifications ----

# Puts a notification behind the others. `receive` is called with news of it, see collect().
sub add {
    my ($self, $receive, $identifier, $notification) = @_;
    my $news = { receive => $receive, identifier => $identifier, token => $notification->{token} };
    if (my $status = _status_of_bad($notification)) {
        push @{ $self->{news} }, { %$news, status => $status };
        return;
    }
    $self->{pending}{ $self->{tag} } = $news;
    push @{ $self->{queue} }, { %$notification, tag => $self->{tag}++ };
    return;
}

# What a gateway answers to a notification that does not fit into a record; 0 if it does.
sub _status_of_bad {
    my ($notification) = @_;
    return 5 unless utf8::downgrade($notification->{token}, 1);
    return 2 if !length $notification->{token};
    return 5 if length $notification->{token} > 100;
    return length $notification->{payload} > 65_535 ? 7 : 0;
}

# Submits what there is room for. Returns whether that was all.
sub pump {
    my ($self) = @_;
    # A signal handler that sends came in the middle: what it added goes out with the rest.
    return 1 if $self->{is_pumping};
    local $self->{is_pumping} = 1;
    my $is_full = 0;
    while (1) {
        my $queue = $self->_untaken;
        return 1 unless @$queue;
        return 0 if $is_full;
        my @batch = @$queue[0 .. min(BATCH, scalar @$queue) - 1];
        $is_full = $self->{ferry}->submit(\@batch) < @batch;
    }
}

# The queue without what the library has taken. Tags tell, because they count from 0. The queue alone does not: a signal
# handler may have died before it was shortened.
sub _untaken {
    my ($self) = @_;
    my $queue = $self->{queue};
    my $taken = $self->{ferry}->counts->{taken};
    shift @$queue while @$queue && $queue->[0]{tag} < $taken;
    return $queue;
}

# Sends items of an identifier and a notification, and returns when they are written, as a write to a socket did.
# Returns the news of them that came meanwhile. Later news go to `receive`.
sub send {
    my ($self, $receive, @items) = @_;
    my $own = [];
    my $first = sub { $own ? push @$own, @_ : $receive->(@_) };
    $self->add($first, @$_) for @items;
    my $is_done = eval { $self->_write; 1 };
    my $error = $@;
    my @news = @$own;
    undef $own;
    return @news if $is_done;
    # A signal handler died.
    $receive->(@news) if @news;
    die $error;
}

sub _write {
    my ($self) = @_;
    until ($self->pump) {
        $self->collect;
        $self->{ferry}->wait(0.1);
    }
    $self->collect until $self->{ferry}->flush(0.1);
    $self->collect;
    my $end = clock_gettime(CLOCK_MONOTONIC) + PROOF;
    until ($self->{is_proved} || $self->is_over || clock_gettime(CLOCK_MONOTONIC) > $end) {
        $self->{ferry}->wait(0.1);
        $self->collect;
    }
    return;
}

# How many have no outcome that was told.
sub pending { return scalar keys %{ $_[0]{pending} } }

sub is_over { return !%{ $_[0]{pending} } }

# Whether everything was written once, or has its outcome.
sub is_written { return !@{ $_[0]{queue} } && $_[0]{ferry}->flush(0) }

sub wait { return $_[0]{ferry}->wait($_[1]) }

# A watcher of AnyEvent. The callback is called when there are outcomes, or room.
sub watch { return $_[0]{ferry}->watch($_[1]) }

# Reads outcomes, and calls each receiver once with all news of its notifications: hashes with `identifier`, `token`,
# and:
# - `status`: that of the error response that a gateway would have sent, or 0;
# - `failure`: a sentence, if it was not delivered or nobody knows; `isLost`: if it certainly was not.
sub collect {
    my ($self) = @_;
    $self->_read_outcomes;
    my @news = splice @{ $self->{news} };
    _tell(@news) if @news;
    return;
}

# Outcomes and news lie in the object, not in variables of this call: a signal handler may die in the middle of it, or
# collect, too.
sub _read_outcomes {
    my ($self) = @_;
    my $is_outermost = !$self->{is_reading};
    local $self->{is_reading} = 1;
    my ($ferry, $pending, $outcomes, $news) = @$self{qw(ferry pending outcomes news)};
    $self->{last_error} = undef;
    my $tag = $self->{tag};
    my $is_settled = !@{ $self->{queue} } && !$ferry->drain(0);
    while (1) {
        push @$outcomes, $ferry->read unless @$outcomes;
        my $outcome = shift @$outcomes // last;
        my $number = $outcome->tag;
        my $one = delete $pending->{$number};
        push @$news, $one if $one && $self->_is_news($one, $outcome);
    }
    # The library gave up. What waits here would only wait longer.
    $self->_take_back(@{ $self->{trouble} }{qw(failure cause)}) if $self->{trouble};
    # Nobody here reads events. They would end every wait.
    $ferry->events if $ferry->wait(0) & FERRY_READY_EVENT;
    # With the option outcomes, some are not told.
    %$pending = () if $is_outermost && $is_settled && $tag == $self->{tag};
    return;
}

# Adds to the news of a notification what became of it. Returns whether the program wants to hear of it.
sub _is_news {
    my ($self, $news, $outcome) = @_;
    my $kind = $outcome->outcome;
    if ($kind == FERRY_ACCEPTED) {
        $self->{is_proved} = 1;
        $self->{trouble} = undef;
        return 0;
    }
    $news->{status} = $outcome->legacy;
    $news->{reason} = $outcome->reason;
    if ($kind == FERRY_UNDELIVERED || $kind == FERRY_UNCERTAIN) {
        $news->{cause} = $outcome->detail;
        $self->{last_error} //= $self->{ferry}->report->{lastError} // '';
        $news->{failure} = join ': ', $CAUSE{ $news->{cause} } // 'it was given up', $self->{last_error} || ();
        $self->{trouble} = $news
            if $news->{cause} == FERRY_CAUSE_CREDENTIALS || $news->{cause} == FERRY_CAUSE_NO_CONNECTION;
    } elsif ($news->{status} || $outcome->status == GONE) {
        $self->{is_proved} = 1;
    } elsif ($kind == FERRY_REJECTED) {
        # The binary protocol had no status for it, because its gateway found the topic in the certificate, for example.
        $news->{failure} = "APNs refused it: $news->{reason}";
        $news->{failure} .= ', see the option "topic" for the file of FERRY_CONFIG' if $news->{reason} =~ /Topic/;
    }
    $news->{isLost} = 1 if $news->{failure} && $kind != FERRY_UNCERTAIN;
    return $news->{status} || $news->{failure};
}

# Makes news of what the library has not taken: it is not delivered.
sub _take_back {
    my ($self, $failure, $cause) = @_;
    for my $notification (splice @{ $self->_untaken }) {
        my $news = delete $self->{pending}{ $notification->{tag} };
        push @{ $self->{news} }, { %$news, status => 0, failure => $failure, cause => $cause, isLost => 1 };
    }
    return;
}

# Every receiver hears its news, even if one of them dies.
sub _tell {
    my (@news) = @_;
    my (%of, @receivers, $error);
    for my $news (@news) {
        my $receive = delete $news->{receive};
        push @receivers, $receive unless $of{$receive};
        push @{ $of{$receive} }, $news;
    }
    for my $receive (@receivers) {
        eval { $receive->(@{ $of{$receive} }); 1 } or $error //= $@;
    }
    die $error if defined $error;
    return;
}

# A sentence about notifications with a `failure`. `name` gives the name of one.
sub complaint {
    my ($name, @news) = @_;
    my %of;
    push @{ $of{ ($_->{isLost} ? 'not delivered' : 'may not have arrived') . " ($_->{failure})" } }, $name->($_)
        for @news;
    return join '; ', map {
        my @names = @{ $of{$_} };
        my @more = @names > 20 ? ('and ' . (@names - 20) . ' more') : ();
        "$_: " . join ', ', @names[0 .. min(20, scalar @names) - 1], @more;
    } sort keys %of;
}

# ---- What old calls have in common ----

# UNIX seconds as the library takes them. In the binary protocol, numbers below 0 had the meaning of 0.
sub expiration {
    my ($seconds) = @_;
    no warnings 'numeric';
    return $seconds > 0 ? min(0xFFFF_FFFF, int $seconds) : 0;
}

# A coder of JSON as bytes.
sub coder {
    return JSON::XS->new->utf8 if eval { require JSON::XS };
    require JSON::PP;
    return JSON::PP->new->utf8;
}

# The JSON of a payload as bytes. A program's own coder may return text.
sub encoded {
    my ($coder, $payload) = @_;
    my $json = $coder->encode($payload);
    my $copy = $json;
    utf8::encode($json) unless utf8::downgrade($json, 1) && utf8::decode($copy);
    return $json;
}

# The JSON of a payload as bytes, with as much of the alert's text as fits into `most` bytes, and whether it does fit.
sub fitted {
    my ($coder, $payload, $most) = @_;
    my $json = encoded($coder, $payload);
    return ($json, 1) if length $json <= $most;
    my $alert = $payload->{aps}{alert};
    my $body = ref $alert eq 'HASH' ? $alert->{body} : $alert;
    return ($json, 0) if !defined $body || ref $body;
    my $with = sub {
        my $text = substr $body, 0, $_[0];
        my $aps = { %{ $payload->{aps} }, alert => ref $alert ? { %$alert, body => $text } : $text };
        return encoded($coder, { %$payload, aps => $aps });
    };
    # The longest beginning that fits, found by halving.
    my ($short, $long) = (0, length $body);
    while ($long - $short > 1) {
        my $middle = int(($short + $long) / 2);
        (length $with->($middle) <= $most ? $short : $long) = $middle;
    }
    $json = $with->($short);
    return ($json, length $json <= $most);
}

# ---- The end of the process ----

# The library would send what is left, but what was not delivered would remain unsaid.
sub finish {
    my ($self, $end) = @_;
    my $left = sub { max 0, $end - clock_gettime(CLOCK_MONOTONIC) };
    until ($self->pump || !$left->()) {
        $self->collect;
        $self->{ferry}->wait(0.1);
    }
    $self->{ferry}->close($left->());
    $self->_take_back($CAUSE{ FERRY_CAUSE_SHUT_DOWN() }, FERRY_CAUSE_SHUT_DOWN);
    my $report = $self->{ferry}->report;
    my ($late, $lost, $fault) = @$report{qw(contradicted feedbackLost configError)};
    warn "Ferry: $late notifications had counted as accepted, and were refused later\n" if $late;
    warn "Ferry: $lost devices that are gone could not be written to the file of \"feedback\"\n" if $lost;
    warn "Ferry: FERRY_CONFIG has changed and cannot be used: $fault\n" if $fault;
    $self->collect;
    return;
}

my $is_ending = 0;

# Whether the program has ended. Its callbacks are called no more.
sub is_ending { return $is_ending }

END {
    local ($?, $!, $@);
    $is_ending = 1;
    my $end = clock_gettime(CLOCK_MONOTONIC) + AT_EXIT;
    for my $provider (grep { $_ && $_->{era} eq era() } values %open) {
        eval { $provider->finish($end); 1 } or warn $@;
    }
}

1;
