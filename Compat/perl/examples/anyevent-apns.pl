#!/usr/bin/perl
# AnyEvent::APNS: sends a notification to each device token in the file TOKENS, with the certificate and key in the file
# CERT, and prints each error response.
#
#   FERRY_CONFIG=ferry.json CERT=apns.pem TOKENS=tokens.txt anyevent-apns.pl [feedback]

use strict;
use warnings;

use AnyEvent;
use AnyEvent::APNS;

# AnyEvent::APNS has no class for the list of devices that are gone: this one is new.
if ("@ARGV" eq 'feedback') {
    require Ferry::Feedback;
    my $list = Ferry::Feedback->new(
        backend => 'auto',
        host    => 'feedback.push.apple.com',
        cert    => $ENV{CERT},
        config  => $ENV{FERRY_CONFIG},
    );
    while (my $devices = $list->read) {
        printf qq({"token":"%s","time":%d}\n), unpack('H*', $_->{token}), $_->{time} for @$devices;
    }
    exit;
}

open my $tokens, '<', $ENV{TOKENS} or die "$ENV{TOKENS}: $!\n";
chomp(my @tokens = <$tokens>);

my $done = AnyEvent->condvar;
my %token_of;

# An error response may come some time after the last notification was written.
my $silence;
sub await_silence { $silence = AnyEvent->timer(after => 3, cb => $done) }

my $apns; $apns = AnyEvent::APNS->new(
    certificate => $ENV{CERT},
    private_key => $ENV{CERT},
    sandbox     => 1,
    on_error    => sub {
        my ($handle, $fatal, $message) = @_;
        die "$message\n";
    },
    on_connect => sub {
        for my $token (@tokens) {
            my $identifier = $apns->send(pack('H*', $token) => { aps => { alert => 'Hello' } });
            $token_of{$identifier} = $token;
        }
    },
    on_error_response => sub {
        my ($identifier, $status) = @_;
        printf qq({"token":"%s","status":%d}\n), $token_of{$identifier}, $status;
        await_silence() if $silence;
    },
);
$apns->connect;
$apns->handler->on_drain(sub {
    undef $_[0];
    await_silence();
});
$done->recv;
