#!/usr/bin/perl
# Net::APNS: sends a notification to each device token in the file TOKENS, with the certificate and key in the file
# CERT.
#
#   FERRY_CONFIG=ferry.json CERT=apns.pem TOKENS=tokens.txt net-apns.pl [feedback]

use strict;
use warnings;

use Net::APNS;

# Net::APNS has no class for the list of devices that are gone: this one is new.
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

my $apns = Net::APNS->new;
my $notifier = $apns->notify({
    cert => $ENV{CERT},
    key  => $ENV{CERT},
});
for my $token (@tokens) {
    $notifier->devicetoken($token);
    $notifier->message('Hello');
    $notifier->badge(4);
    $notifier->sound('default');
    $notifier->custom({ custom_key => 'custom_value' });
    $notifier->write;
}
