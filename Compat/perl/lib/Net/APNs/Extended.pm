package Net::APNs::Extended;

use 5.010;
use strict;
use warnings;

use Carp qw(carp croak);
use Exporter ();
use Ferry qw(FERRY_CAUSE_CREDENTIALS FERRY_CAUSE_NO_CONNECTION);
use Ferry::DropIn;
use List::Util qw(min);
use Net::APNs::Extended::Base;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

our $VERSION = '0.14';
our @ISA = qw(Exporter Net::APNs::Extended::Base);

my %STATUS;

BEGIN {
    %STATUS = (
        NO_ERRORS => 0, PROCESSING_ERROR => 1, MISSING_DEVICE_TOKEN => 2, MISSING_TOPIC => 3, MISSING_PAYLOAD => 4,
        INVALID_TOKEN_SIZE => 5, INVALID_TOPIC_SIZE => 6, INVALID_PAYLOAD_SIZE => 7, INVALID_TOKEN => 8, SHUTDOWN => 10,
        UNKNOWN_ERROR => 255,
    );
}
use constant \%STATUS;
our @EXPORT_OK = sort keys %STATUS;
our %EXPORT_TAGS = (constants => \@EXPORT_OK);

__PACKAGE__->mk_accessors(qw(max_payload_size command));

my %DEFAULT = (
    host_production  => 'gateway.push.apple.com',
    host_sandbox     => 'gateway.sandbox.push.apple.com',
    is_sandbox       => 0,
    port             => 2195,
    max_payload_size => 256,
    command          => 1,
);

sub new {
    my ($class, %arguments) = @_;
    return $class->SUPER::new(%DEFAULT, %arguments);
}

sub send {
    my ($self, $token, $payload, $extra) = @_;
    croak 'Usage: $apns->send($device_token, \%payload [, \%extra ])'
        unless defined $token && ref $payload eq 'HASH';
    return $self->_deliver([$token, $payload, $extra, 0]);
}

sub send_multi {
    my ($self, $data) = @_;
    croak 'Usage: $apns->send_multi(\@datum)' unless ref $data eq 'ARRAY';
    my @items;
    my $identifier = 0;
    for my $item (@$data) {
        croak 'Net::APNs::Extended: send data must be ARRAYREF' unless ref $item eq 'ARRAY';
        my ($token, $payload, $extra) = @$item;
        croak 'Net::APNs::Extended: send data require $device_token and \%payload'
            unless defined $token && ref $payload eq 'HASH';
        push @items, [$token, $payload, $extra, $extra && $extra->{identifier} ? undef : $identifier++];
    }
    return $self->_deliver(@items);
}

# Sends items of token, payload, extra and the identifier to use if extra has none.
sub _deliver {
    my ($self, @items) = @_;
    my $command = $self->command;
    croak "command($command) not support. shuled be 0 or 1" unless $command =~ /\A[01]\z/;
    my @notifications = map { $self->_notification(@$_) } @items;
    my $provider = Ferry::DropIn->shared($self->_request);
    my $errors = $self->_errors;
    my @news = $provider->send(sub { _receive($errors, @_) }, @notifications);
    # Only if nothing was delivered may the caller send all of it again.
    if (@news && @notifications == grep { $_->{isLost} } @news) {
        my $cause = $news[0]{cause} // 0;
        my $prefix = $cause == FERRY_CAUSE_CREDENTIALS ? 'SSL error: failed ssl connect: '
            : $cause == FERRY_CAUSE_NO_CONNECTION ? "can't connect socket: " : '';
        croak $prefix, $news[0]{failure};
    }
    _receive($errors, @news) if @news;
    return 1;
}

# The identifier and the notification of one item.
sub _notification {
    my ($self, $token, $payload, $extra, $identifier) = @_;
    no warnings 'numeric';
    $identifier = ($extra->{identifier} || $identifier || 0) & 0xFFFF_FFFF;
    my %notification = (token => $token, payload => $self->_json($payload));
    $notification{expiration} = Ferry::DropIn::expiration($extra->{expiry} || 0) if $self->command;
    return [$identifier, \%notification];
}

sub _json {
    my ($self, $payload) = @_;
    my $aps = $payload->{aps};
    croak 'aps parameter must be HASHREF' unless ref $aps eq 'HASH';
    $aps = { %$aps, badge => $aps->{badge} + 0 } if exists $aps->{badge};
    my ($json, $is_short) = Ferry::DropIn::fitted($self->json, { %$payload, aps => $aps }, $self->max_payload_size);
    return $json if $is_short;
    # The payload stays out of the sentence, which may be logged.
    croak sprintf 'over the payload size (current:%d > max:%d)', length $json, $self->max_payload_size;
}

sub retrieve_error {
    my ($self) = @_;
    my $provider = Ferry::DropIn->shared($self->_request);
    my $errors = $self->_errors;
    my $left = -1;
    my $end;
    while (1) {
        $provider->collect;
        return shift @$errors if @$errors;
        return if $provider->is_over;
        # The original waited for a server that was silent. A server that accepts other notifications is not.
        my $now = clock_gettime(CLOCK_MONOTONIC);
        ($left, $end) = ($provider->pending, $now + ($self->read_timeout // 'inf')) if $left != $provider->pending;
        return if $now >= $end;
        $provider->wait(min 0.1, $end - $now);
    }
}
*retrive_error = \&retrieve_error;

# The errors that were not yet retrieved. Those of a parent process are for the parent.
sub _errors {
    my ($self) = @_;
    my $era = Ferry::DropIn::era();
    @$self{qw(_errors _era)} = ([], $era) if ($self->{_era} // '') ne $era;
    return $self->{_errors};
}

sub _receive {
    my ($errors, @news) = @_;
    for my $news (@news) {
        push @$errors, { command => 8, status => $news->{status} || UNKNOWN_ERROR, identifier => $news->{identifier} };
    }
    if (my @failures = grep { $_->{failure} } @news) {
        carp 'Net::APNs::Extended: ', Ferry::DropIn::complaint(sub { "identifier $_[0]{identifier}" }, @failures);
    }
    return;
}

1;
