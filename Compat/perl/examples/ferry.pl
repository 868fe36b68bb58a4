#!/usr/bin/perl
# The module Ferry: sends a notification to each device token in the file TOKENS, with the certificate and key in the
# file CERT, and prints each refusal; or prints the devices that are gone.
#
#   FERRY_CONFIG=ferry.json CERT=apns.pem TOKENS=tokens.txt ferry.pl [feedback]

use strict;
use warnings;

use Ferry qw(:constants);
use Ferry::Feedback;

my %options = (backend => 'auto', host => 'gateway.push.apple.com', cert => $ENV{CERT}, config => $ENV{FERRY_CONFIG});

if ("@ARGV" eq 'feedback') {
    my $list = Ferry::Feedback->new(%options);
    while (my $devices = $list->read) {
        printf qq({"token":"%s","time":%d}\n), unpack('H*', $_->{token}), $_->{time} for @$devices;
    }
    exit;
}

open my $file, '<', $ENV{TOKENS} or die "$ENV{TOKENS}: $!\n";
chomp(my @tokens = <$file>);
my $payload = { aps => { alert => 'Hello' } };
my @batch = map { { tag => $_, token => pack('H*', $tokens[$_]), payload => $payload } } 0 .. $#tokens;

my $ferry = Ferry->new(%options);
while (@batch) {
    splice @batch, 0, $ferry->submit(\@batch);
    print_outcomes();
    $ferry->wait if @batch;
}
$ferry->drain;
print_outcomes();

sub print_outcomes {
    while (my @outcomes = $ferry->read) {
        for my $outcome (@outcomes) {
            my $token = $tokens[$outcome->tag];
            if ($outcome->legacy) {
                printf qq({"token":"%s","status":%d}\n), $token, $outcome->legacy;
            } elsif ($outcome->outcome == FERRY_UNDELIVERED || $outcome->outcome == FERRY_UNCERTAIN) {
                warn "$token: ", $ferry->report->{lastError} // 'not delivered', "\n";
            }
        }
    }
}
